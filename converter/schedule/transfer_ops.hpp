// Turns a schedule's transfers into copy ops and makes ops use the copies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/locations.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

/// Rewrites the graph, event by event in the schedule's order.
class TransferOps {
 public:
  TransferOps(Graph& graph, Locations& locations, const ProgramProblem& problem,
              const TimeSchedule& schedule);

  [[nodiscard]] Status Run();

  /// Returns, by event, the op that executes it.
  [[nodiscard]] const std::vector<OpId>& op_of_event() const { return op_of_event_; }
  /// Returns, by hold, the tensor that owns its bytes; kNone for transient ones.
  [[nodiscard]] const std::vector<TensorId>& root_of_hold() const { return root_of_hold_; }
  /// Returns, by value, the tensor in slow memory that a transfer reads or writes, or kNone.
  [[nodiscard]] const std::vector<TensorId>& slow_tensor() const { return slow_tensor_; }

 private:
  [[nodiscard]] Status RewriteTask(Index task);
  [[nodiscard]] Status WriteFast(OpId op, Index value, int32_t hold);
  [[nodiscard]] Status AddFetch(const TimeEvent& event, OpId& made);
  [[nodiscard]] Status AddStore(const TimeEvent& event, OpId& made);
  [[nodiscard]] Result<OpId> AddCopy(TensorId from, const std::string& name);
  [[nodiscard]] Result<TensorId> OnCopy(TensorId shape, TensorId base, TensorId copy);
  void GiveRoot(TensorId id);
  void EraseDeadViews();

  Graph& graph_;
  Locations& locations_;
  const ProgramProblem& problem_;
  const TimeSchedule& schedule_;
  std::vector<OpId> op_of_event_;
  std::vector<TensorId> root_of_hold_;
  std::vector<TensorId> slow_tensor_;
  std::vector<bool> is_stored_;                  ///< by hold
  std::vector<std::vector<TensorId>> views_of_;  ///< by base: tensors that only reshape it
  std::map<std::pair<TensorId, TensorId>, TensorId> seen_on_copy_;
};

}  // namespace tenon::converter
