// A graph as the searches for an order see it: for memory alone, and in time on a board.
#pragma once

#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

// The order search's view of a graph, and back.
//
// Requires:   kernels chosen, layouts assigned, locations known: what is a view costs nothing, what
//             works in place is priced so, workspaces are known.
// Guarantees: the problem's peak under an order is the placer's lower bound under that order,
//             except for paddings of alignment.

struct OrderProblem {
  MemoryProblem problem;
  std::vector<OpId> steps;  ///< by node: the op; elided ops are no nodes
};

/// Nodes are the ops that execute, in the graph's order; storages are the roots of what they touch.
[[nodiscard]] OrderProblem MakeOrderProblem(const Graph& graph, const Locations& locations);

/// All ops of the graph with the executed ones in the order `steps`; an elided op comes just before
/// the first that needs it, or at the end. `steps` must respect the problem's precedence.
[[nodiscard]] std::vector<OpId> WithElidedOps(const Graph& graph, const Locations& locations,
                                              const std::vector<OpId>& steps);

// A graph on a board as the search for an order in time sees it.
//
// Requires:   kernels chosen, layouts assigned, locations known.
// Guarantees: what the problem says is read, written and moved is what LowerSchedule() makes real.

/// Where a board keeps what ops work on.
struct BoardMemory {
  const MemorySpace* fast = nullptr;  ///< ops run from here
  const MemorySpace* slow = nullptr;  ///< behind it, reached by a transfer unit; null: none
  int32_t fetch_link = kNone;         ///< slow to fast, index into Board::links
  int32_t store_link = kNone;         ///< fast to slow
  bool stage_constants = false;       ///< constants are fetched before use
};
[[nodiscard]] BoardMemory MemoryOf(const Board& board);

struct ProgramProblem {
  TimeProblem problem;
  std::vector<OpId> op_of_task;
  std::vector<TensorId> tensor_of_value;
  std::vector<TensorId> root_of_storage;
  /// By storage: it must lie where it does (constants, inputs, outputs, what is too large); of the
  /// others TimeStorage::slow may be changed.
  std::vector<bool> fixed;
  std::vector<Index> value_of_tensor;  ///< by tensor: UINT32_MAX for what is not moved
  /// By tensor: itself, or the tensor with the same elements in the same places of which it is but
  /// another shape; that one is moved, and the shape is seen on the copy.
  std::vector<TensorId> base;
};

struct ProblemOptions {
  /// Roots with more bytes lie in slow memory, so that ops work on copies of the windows that they
  /// touch.
  int64_t largest_fast_root = INT64_MAX;
  bool in_place = true;
  /// By OpId: index into Board::units. Null, shorter or kNone: the first unit that runs the op.
  const std::vector<int32_t>* unit_of_op = nullptr;
};

/// Tasks are the ops that execute, in the graph's order. Without slow memory, or a transfer unit to
/// reach it, everything is fast and inputs are there from the start. Errors (kInput): an op that no
/// unit of the board runs.
[[nodiscard]] Result<ProgramProblem> MakeProgramProblem(const Graph& graph,
                                                        const Locations& locations,
                                                        const Board& board, const CostModel& model,
                                                        const ProblemOptions& options);

}  // namespace tenon::converter
