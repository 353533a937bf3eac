// Runs plans on this machine and measures the time of every op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/profile/profile.hpp"
#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

/// Contains a converted model to measure.
struct PlanToProfile {
  std::string name;
  bool sweep = false;
  std::vector<uint8_t> plan;
};

/// Contains nanoseconds of all runs so far; those of ops are indexed by op of the plan.
struct RunSamples {
  std::vector<double> latency;
  std::vector<std::vector<double>> wall;
  std::vector<std::vector<double>> running;  ///< empty unless a run is one thread
  int rounds = 1;                            ///< in which they were taken, one after the other

  [[nodiscard]] Durations Latency();
  /// Summarises an op; for long ops uses the time that the thread was running, if known.
  [[nodiscard]] Durations OfOp(size_t op);
};

struct TurnOptions {
  int threads = 1;
  int iterations = 30;  ///< runs of each plan, over all rounds
  /// Every plan runs in every round, so that a temporary disturbance of the machine affects only
  /// part of every plan's runs, and others remain.
  int rounds = 5;
  /// Called before each plan's turn. May be empty.
  std::function<void(const std::string& name, int index, int count)> progress;
};

/// Runs every plan with random inputs; in each turn some runs come first that do not count.
/// Errors (kBackend): a plan does not open or run here, no place for temporary files.
[[nodiscard]] Result<std::vector<RunSamples>> RunInTurns(const std::vector<PlanToProfile>& plans,
                                                         const TurnOptions& options);

/// Gives access to a plan's tables as long as this object lives.
class OpenedPlan {
 public:
  /// Opens the plan. Errors (kInternal): it is not a plan.
  [[nodiscard]] static Result<OpenedPlan> Open(const PlanToProfile& subject);
  [[nodiscard]] const PlanView& view() const { return view_; }

 private:
  std::vector<std::max_align_t> aligned_;
  PlanView view_;
};

/// Returns the name of the board's unit that runs the op; where it has none, the op's backend.
[[nodiscard]] std::string UnitNameOf(const Board& board, const ProfileOperands& operands);

}  // namespace tenon::converter
