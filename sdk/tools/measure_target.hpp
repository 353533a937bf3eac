// Runs candidate plans on the target, so that a search can measure instead of predict
// (`convert --order=measured`, `--target`).
#pragma once

#include <string>

namespace tenon::tool {

struct TargetOptions {
  /// What runs `tenon` on the target: "ssh board tenon", "qemu-aarch64 ./tenon". It goes to the
  /// shell as it is, and gets `bench PLAN --json /dev/stdout ...` as further arguments; the plan's
  /// path is never read by that shell. Empty: this program, here.
  std::string command;
  int iterations = 20;
  int warmup = 3;
  int threads = 1;
  double timeout_seconds = 60;  ///< of one plan, after which the command and its children are ended
};

struct TargetLatency {
  double min_ms = 0;
  double median_ms = 0;
};

/// Latency of one plan on the target. Throws Failure (kDeviceFailure) with the last lines of the
/// command's stderr as details: it cannot be started, fails, takes too long, or does not print the
/// JSON of `tenon bench`.
[[nodiscard]] TargetLatency MeasureOnTarget(const TargetOptions& options, const std::string& plan);

}  // namespace tenon::tool
