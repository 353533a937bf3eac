// Runs plans on a target that is emulated: a program of the target's that reads plans from its
// standard input and writes their outputs, started once and kept.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/run_plan.hpp"

namespace tenon::test {

class TargetRunner {
 public:
  /// The one that the environment names in TENON_TARGET_RUNNER (a command line for the shell that
  /// starts plan_server), or null. A command that cannot be started ends the process.
  static TargetRunner* Find();

  /// As RunPlan. A target that ends or does not speak the protocol is an error in the result.
  [[nodiscard]] RunResult Run(const std::vector<uint8_t>& plan,
                              const std::vector<std::vector<std::byte>>& inputs,
                              const RunSettings& settings);

  TargetRunner(const TargetRunner&) = delete;
  TargetRunner& operator=(const TargetRunner&) = delete;

 private:
  TargetRunner() = default;
  void Start(const std::string& command);

  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace tenon::test
