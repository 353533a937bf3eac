// Runs plans on this machine with a clock around every op.
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

/// A converted model to measure.
struct PlanToProfile {
  std::string name;
  bool sweep = false;
  std::vector<uint8_t> plan;
};

/// Nanoseconds of all runs so far; of ops, by op of the plan.
struct RunSamples {
  std::vector<double> latency;
  std::vector<std::vector<double>> wall;
  std::vector<std::vector<double>> running;  ///< empty unless a run is one thread

  [[nodiscard]] Durations Latency();
  /// Long ops by the time that the thread was running, where that is known.
  [[nodiscard]] Durations OfOp(size_t op);
};

struct TurnOptions {
  int threads = 1;
  int iterations = 30;  ///< runs of each plan, over all rounds
  /// Every plan has its turn in every round, so that what disturbs the machine for a while disturbs
  /// a part of every plan's runs, and the faster half is left.
  int rounds = 3;
  /// Called before each plan's turn. May be empty.
  std::function<void(const std::string& name, int index, int count)> progress;
};

/// Runs every plan with random inputs; in each turn some runs come first that do not count.
/// Errors (kBackend): a plan does not open or run here, no place for temporary files.
[[nodiscard]] Result<std::vector<RunSamples>> RunInTurns(const std::vector<PlanToProfile>& plans,
                                                         const TurnOptions& options);

/// A plan's tables, for as long as this lives.
class PlanTables {
 public:
  /// Errors (kInternal): no plan.
  [[nodiscard]] static Result<PlanTables> Open(const PlanToProfile& subject);
  [[nodiscard]] const PlanView& view() const { return view_; }

 private:
  std::vector<std::max_align_t> aligned_;
  PlanView view_;
};

/// The board's unit that runs the op; where it has none, the op's backend.
[[nodiscard]] std::string UnitNameOf(const Board& board, const ProfileOperands& operands);

}  // namespace tenon::converter
