#include "sdk/tools/measure_target.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// More than any bench prints; what comes beyond is read and dropped.
constexpr size_t kMostOutput = 1 << 20;

struct Pipe {
  int ends[2] = {-1, -1};

  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) Fail(kDeviceFailure, "pipe: {}", std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    Close(0);
    Close(1);
  }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

struct Finished {
  std::string output;
  std::string errors;
  int status = 0;
  bool timed_out = false;
};

std::vector<std::string> ArgumentsOf(const TargetOptions& options, const std::string& plan) {
  std::vector<std::string> arguments;
  if (options.command.empty()) {
    arguments = {"/proc/self/exe"};
  } else {
    // The shell reads the command alone; the arguments reach it as "$@".
    arguments = {"/bin/sh", "-c", options.command + " \"$@\"", "tenon"};
  }
  for (const std::string& argument :
       {std::string("bench"), plan, std::string("--json"), std::string("/dev/stdout"),
        std::string("--iterations"), std::to_string(options.iterations), std::string("--warmup"),
        std::to_string(options.warmup), std::string("--threads"),
        std::to_string(options.threads)}) {
    arguments.push_back(argument);
  }
  return arguments;
}

/// In the child: nothing but what may follow a fork.
[[noreturn]] void Exec(char* const* arguments, int output, int errors) {
  setpgid(0, 0);
  // In a group of its own Ctrl-C does not reach it: it ends when this program does.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execv(arguments[0], arguments);
  const char* reason = std::strerror(errno);
  const ssize_t ignored = write(STDERR_FILENO, reason, std::strlen(reason));
  _exit(ignored < 0 ? 126 : 127);
}

/// Reads what there is; false at the end of the stream.
bool Drain(int from, std::string& to) {
  char buffer[4096];
  const ssize_t count = read(from, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  const size_t room = kMostOutput - std::min(kMostOutput, to.size());
  to.append(buffer, std::min(static_cast<size_t>(count), room));
  return count > 0;
}

/// Reads both streams to their ends; false if that takes longer than `seconds`.
bool ReadStreams(Pipe& output, Pipe& errors, double seconds, Finished& finished) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  pollfd streams[2] = {{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    if (left.count() <= 0) return false;
    const int ready = poll(streams, 2, static_cast<int>(std::min(left.count() + 1, 1e6)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (streams[0].revents != 0 && !Drain(streams[0].fd, finished.output)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !Drain(streams[1].fd, finished.errors)) streams[1].fd = -1;
  }
  return true;
}

/// Waits for the child, no longer than `seconds` in all; false if it is still there then.
bool WaitFor(pid_t child, double seconds, int& status) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    if (Clock::now() >= deadline) return false;
    usleep(1000);
  }
}

Finished Run(const std::vector<std::string>& arguments, double timeout_seconds) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  Pipe output;
  Pipe errors;
  const auto start = Clock::now();
  const pid_t child = fork();
  if (child < 0) Fail(kDeviceFailure, "fork: {}", std::strerror(errno));
  if (child == 0) Exec(pointers.data(), output.ends[1], errors.ends[1]);
  setpgid(child, child);  // here too: whichever comes first
  output.Close(1);
  errors.Close(1);
  Finished finished;
  finished.timed_out = !ReadStreams(output, errors, timeout_seconds, finished);
  const std::chrono::duration<double> spent = Clock::now() - start;
  if (finished.timed_out || !WaitFor(child, timeout_seconds - spent.count(), finished.status)) {
    finished.timed_out = true;
    kill(-child, SIGKILL);
    waitpid(child, &finished.status, 0);
  }
  return finished;
}

/// The last lines, which say what went wrong.
std::vector<std::string> LastLines(const std::string& text) {
  constexpr size_t kLines = 8;
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return lines;
}

[[noreturn]] void FailTarget(const std::string& what, const Finished& finished) {
  throw Failure{kDeviceFailure, fmt::format("the target {}", what), LastLines(finished.errors)};
}

}  // namespace

TargetLatency MeasureOnTarget(const TargetOptions& options, const std::string& plan) {
  const Finished finished = Run(ArgumentsOf(options, plan), options.timeout_seconds);
  if (finished.timed_out) {
    FailTarget(fmt::format("took longer than {} s for '{}'", options.timeout_seconds, plan),
               finished);
  }
  if (WIFSIGNALED(finished.status)) {
    FailTarget(fmt::format("was ended by signal {}", WTERMSIG(finished.status)), finished);
  }
  if (WEXITSTATUS(finished.status) != 0) {
    FailTarget(fmt::format("failed with exit status {}", WEXITSTATUS(finished.status)), finished);
  }
  // Lines for people stand before or behind the object.
  const size_t begin = finished.output.find('{');
  const size_t end = finished.output.rfind('}');
  nlohmann::json json = nlohmann::json::value_t::discarded;
  if (begin != std::string::npos && end != std::string::npos && begin < end) {
    json = nlohmann::json::parse(finished.output.substr(begin, end - begin + 1), nullptr, false);
  }
  TargetLatency latency;
  try {
    latency.min_ms = json.at("latency_ms").at("min").get<double>();
    latency.median_ms = json.at("latency_ms").at("median").get<double>();
  } catch (const nlohmann::json::exception&) {
    FailTarget("printed no latency: it must print what 'tenon bench --json' does", finished);
  }
  const bool sound = std::isfinite(latency.min_ms) && latency.min_ms > 0 &&
                     std::isfinite(latency.median_ms) && latency.median_ms >= latency.min_ms;
  if (!sound) FailTarget("printed a latency that cannot be", finished);
  return latency;
}

}  // namespace tenon::tool
