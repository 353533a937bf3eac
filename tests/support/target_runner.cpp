#include "tests/support/target_runner.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/support/plan_messages.hpp"

namespace tenon::test {

TargetRunner* TargetRunner::Find() {
  static TargetRunner* const kFound = [] {
    const char* command = std::getenv("TENON_TARGET_RUNNER");
    if (command == nullptr || *command == '\0') return static_cast<TargetRunner*>(nullptr);
    static TargetRunner runner;
    runner.Start(command);
    return &runner;
  }();
  return kFound;
}

void TargetRunner::Start(const std::string& command) {
  int requests[2];
  int answers[2];
  if (pipe(requests) != 0 || pipe(answers) != 0) {
    std::perror("TENON_TARGET_RUNNER: pipe");
    std::exit(1);
  }
  std::signal(SIGPIPE, SIG_IGN);
  const pid_t child = fork();
  if (child == 0) {
    dup2(requests[0], STDIN_FILENO);
    dup2(answers[1], STDOUT_FILENO);
    for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
    unsetenv("TENON_TARGET_RUNNER");  // the server runs plans by itself
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(requests[0]);
  close(answers[1]);
  to_ = child < 0 ? nullptr : fdopen(requests[1], "wb");
  from_ = child < 0 ? nullptr : fdopen(answers[0], "rb");
  if (to_ == nullptr || from_ == nullptr) {
    std::perror("TENON_TARGET_RUNNER");
    std::exit(1);
  }
}

RunResult TargetRunner::Run(const std::vector<uint8_t>& plan,
                            const std::vector<std::vector<std::byte>>& inputs,
                            const RunSettings& settings) {
  RunResult result;
  const bool sent = WriteNumber(to_, settings.portable ? 1 : 0) &&
                    WriteNumber(to_, static_cast<uint64_t>(settings.threads)) &&
                    WriteNumber(to_, settings.bound ? 1 : 0) && WriteBlock(to_, plan) &&
                    WriteBlocks(to_, inputs) && std::fflush(to_) == 0;
  std::vector<char> error;
  if (!sent || !ReadBlock(from_, error) || !ReadBlocks(from_, result.outputs)) {
    result.error = "the target's program (TENON_TARGET_RUNNER) ended or did not answer";
    return result;
  }
  result.error.assign(error.begin(), error.end());
  return result;
}

}  // namespace tenon::test
