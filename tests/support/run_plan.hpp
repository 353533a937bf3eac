// Runs a plan through the public interface, here or on a target that is emulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "tests/support/plan_bytes.hpp"

namespace tenon::test {

struct RunResult {
  std::string error;   ///< empty if it ran
  std::string notice;  ///< of the plan, as it was loaded here
  std::vector<std::vector<std::byte>> outputs;
};

struct RunSettings {
  bool portable = false;
  int threads = 1;
  /// Inputs and outputs in memory bound by the caller, of exactly their size; an input that a run
  /// has changed is an error then.
  bool bound = false;
  /// Beside the CPU's and OpenCL.
  std::vector<const tenon_backend*> others = {};
  /// Called right before and after the run itself. May be empty.
  std::function<void()> before_run = {};
  std::function<void()> after_run = {};
};

/// Loads and runs once, by TargetRunner where there is one and the settings ask for nothing of this
/// process; `inputs` are raw row-major bytes, one per input
/// of the plan.
[[nodiscard]] RunResult RunPlan(const std::vector<uint8_t>& plan,
                                const std::vector<std::vector<std::byte>>& inputs,
                                const RunSettings& settings = {});

/// Loads, which checks the plan, and opens a session; what goes wrong in words, or empty.
[[nodiscard]] std::string LoadPlan(const std::vector<uint8_t>& plan);

}  // namespace tenon::test
