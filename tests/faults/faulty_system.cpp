// A program of the runtime on a system that gives no more threads, hands out files in small pieces,
// and has its clock set while inputs are under way.
//
//   faulty_system PLAN threads   the n-th thread cannot be made, for every n: right values or
//                                TENON_OUT_OF_MEMORY, and everything closes
//   faulty_system PLAN reads     every read gives a few bytes, or is interrupted: right values
//   faulty_system PLAN clock     nothing asks for the time of day, which people set
//
// It stands in front of the system's own functions.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "tenon/stream.h"
#include "tenon/tenon.h"

namespace {

std::atomic<long> threads_made{0};
std::atomic<long> failing_thread{0};  // 0: none
std::atomic<bool> reads_are_short{false};
std::atomic<long> reads{0};
std::atomic<long> times_of_day{0};

template <typename Function>
Function* Original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  static auto* const original = Original<decltype(pthread_create)>("pthread_create");
  if (++threads_made == failing_thread) return EAGAIN;
  return original(thread, attributes, body, argument);
}

ssize_t read(int file, void* data, size_t bytes) {
  static auto* const original = Original<decltype(read)>("read");
  if (!reads_are_short) return original(file, data, bytes);
  const long number = ++reads;
  if (number % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  constexpr size_t kMost = 97;
  return original(file, data, bytes < kMost ? bytes : kMost);
}

int clock_gettime(clockid_t clock, timespec* now) {
  static auto* const original = Original<decltype(clock_gettime)>("clock_gettime");
  if (clock == CLOCK_REALTIME) ++times_of_day;
  return original(clock, now);
}

int gettimeofday(timeval* now, void*) {
  ++times_of_day;
  *now = {};
  return 0;
}

time_t time(time_t* now) {
  ++times_of_day;
  if (now != nullptr) *now = 0;
  return 0;
}

}  // extern "C"

namespace {

/// An input that a thread which was never made should run is awaited no longer, in nanoseconds.
constexpr uint64_t kPatience = uint64_t{10} * 1000 * 1000 * 1000;

/// Of one run: every output's bytes.
using Values = std::vector<std::vector<char>>;

struct Attempt {
  bool is_short = false;  ///< TENON_OUT_OF_MEMORY was answered
  bool is_wrong = false;  ///< anything else was, or values differ
};

/// True if the call did what it should. Where threads are short it may say so.
bool Take(tenon_status status, const tenon_error& error, const char* call, Attempt& attempt) {
  if (status == TENON_OK) return true;
  attempt.is_short |= status == TENON_OUT_OF_MEMORY;
  attempt.is_wrong |= status != TENON_OUT_OF_MEMORY;
  if (attempt.is_wrong) std::fprintf(stderr, "%s: %s\n", call, error.message);
  return false;
}

Values RunSession(const tenon_plan* plan, Attempt& attempt) {
  Values values;
  tenon_error error{};
  tenon_session* session = nullptr;
  if (!Take(tenon_session_open(plan, &session, &error), error, "session_open", attempt)) return {};
  tenon_port_info info;
  for (size_t i = 0; tenon_plan_input(plan, i, &info) == TENON_OK; ++i) {
    auto* data = static_cast<float*>(tenon_session_input(session, i));
    for (size_t k = 0; k < info.bytes / sizeof(float); ++k) data[k] = static_cast<float>(k % 7);
  }
  if (Take(tenon_session_run(session, &error), error, "session_run", attempt)) {
    for (size_t i = 0; tenon_plan_output(plan, i, &info) == TENON_OK; ++i) {
      const auto* data = static_cast<const char*>(tenon_session_output(session, i));
      values.emplace_back(data, data + info.bytes);
    }
  }
  tenon_session_close(session);
  return values;
}

/// Two inputs through a stream.
void RunStream(const tenon_plan* plan, size_t replicas, const Values& expected, Attempt& attempt) {
  tenon_stream_options options{};
  options.replicas = replicas;
  tenon_error error{};
  tenon_stream* stream = nullptr;
  const tenon_status opened = tenon_stream_open(plan, &options, &stream, &error);
  if (!Take(opened, error, "stream_open", attempt)) return;
  constexpr size_t kInputs = 2;
  std::vector<std::vector<float>> inputs;
  Values outputs[kInputs];
  tenon_port_info info;
  std::vector<const void*> from;
  for (size_t i = 0; tenon_plan_input(plan, i, &info) == TENON_OK; ++i) {
    std::vector<float>& values = inputs.emplace_back(info.bytes / sizeof(float));
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 7);
  }
  for (const std::vector<float>& input : inputs) from.push_back(input.data());
  uint64_t tickets[kInputs] = {};
  for (size_t n = 0; n < kInputs; ++n) {
    std::vector<void*> to;
    for (size_t i = 0; tenon_plan_output(plan, i, &info) == TENON_OK; ++i) {
      outputs[n].emplace_back(info.bytes);
    }
    for (std::vector<char>& output : outputs[n]) to.push_back(output.data());
    Take(tenon_stream_submit(stream, from.data(), to.data(), kPatience, &tickets[n], &error), error,
         "stream_submit", attempt);
  }
  for (size_t n = 0; n < kInputs; ++n) {
    if (Take(tenon_stream_wait(stream, tickets[n], kPatience, &error), error, "stream_wait",
             attempt)) {
      attempt.is_wrong |= outputs[n] != expected;
    }
  }
  tenon_stream_close(stream);
}

Attempt TryAll(const char* path, const Values& expected) {
  constexpr int kThreads = 3;
  Attempt attempt;
  tenon_error error{};
  tenon_plan* plan = nullptr;
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  if (Take(tenon_plan_open(path, &backends, kThreads, &plan, &error), error, "plan_open",
           attempt)) {
    const Values values = RunSession(plan, attempt);
    attempt.is_wrong |= !values.empty() && values != expected;
    // Where one replica's thread is missing, another's would hide it.
    for (const size_t replicas : {1, 2}) RunStream(plan, replicas, expected, attempt);
  }
  tenon_plan_close(plan);
  return attempt;
}

Values ValuesOf(const char* path) {
  Attempt attempt;
  tenon_error error{};
  tenon_plan* plan = nullptr;
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  Values values;
  if (Take(tenon_plan_open(path, &backends, 1, &plan, &error), error, "plan_open", attempt)) {
    values = RunSession(plan, attempt);
  }
  tenon_plan_close(plan);
  return values;
}

/// Each number in a process of its own, so that a crash or a wait without end is seen.
int FailThreads(const char* path, const Values& expected) {
  int is_short = 0;
  for (long number = 1;; ++number) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      threads_made = 0;
      failing_thread = number;
      const Attempt attempt = TryAll(path, expected);
      if (attempt.is_wrong) _exit(1);
      _exit(threads_made < number ? 2 : attempt.is_short ? 3 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (code == 2) {
      std::printf("%ld threads could not be made one by one, %d said so, the others did without\n",
                  number - 1, is_short);
      return number > 1 && is_short > 0 ? 0 : 1;
    }
    if (code != 0 && code != 3) {
      std::printf("thread %ld: %s %d\n", number, code < 0 ? "signal" : "exit", std::abs(code));
      return 1;
    }
    is_short += code == 3 ? 1 : 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Values expected = ValuesOf(argv[1]);
  if (expected.empty()) return 1;
  if (std::strcmp(argv[2], "threads") == 0) return FailThreads(argv[1], expected);
  reads_are_short = std::strcmp(argv[2], "reads") == 0;
  times_of_day = 0;
  const Attempt attempt = TryAll(argv[1], expected);
  std::printf("%ld short reads, %ld times of day, %ld threads\n", reads.load(), times_of_day.load(),
              threads_made.load());
  if (attempt.is_wrong || attempt.is_short) return 1;
  if (reads_are_short) return reads > 10 ? 0 : 1;
  return times_of_day == 0 && threads_made > 0 ? 0 : 1;
}
