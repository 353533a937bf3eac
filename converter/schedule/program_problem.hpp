// Expresses a graph as the problems that searches for an order solve: for memory alone, and in time
// on a board.
#pragma once

#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

// Converts a graph to a problem of the order search, and the solution back.
//
// Requires:   kernels chosen, layouts assigned, locations known, so that views, in-place ops and
//             workspaces count with the bytes that they need.
// Guarantees: the problem's peak under an order is the placer's lower bound under that order,
//             except for alignment padding.

struct OrderProblem {
  MemoryProblem problem;
  std::vector<OpId> steps;  ///< the op of each node; elided ops have no node
};

/// Makes the problem. Its nodes are the ops that execute, in the graph's order; its storages are
/// the roots of what they touch, but for those of `outside`.
[[nodiscard]] OrderProblem MakeOrderProblem(const Graph& graph, const Locations& locations,
                                            const OutsideInputs& outside = {});

/// Returns all ops of the graph, with the executed ones in the order `steps`; an elided op comes
/// just before the first op that needs it, or at the end. `steps` must respect the problem's
/// precedence.
[[nodiscard]] std::vector<OpId> WithElidedOps(const Graph& graph, const Locations& locations,
                                              const std::vector<OpId>& steps);

/// Returns the names of the key nodes among the ops that execute.
[[nodiscard]] std::vector<std::string> KeyNodeNames(const Graph& graph,
                                                    const OrderProblem& problem);

/// Returns the nodes of `steps` in their order; ops that are not the problem's are left out.
[[nodiscard]] std::vector<Index> NodesOf(const OrderProblem& problem,
                                         const std::vector<OpId>& steps);

// Expresses a graph on a board as the problem of the search for an order in time.
//
// Requires:   kernels chosen, layouts assigned, locations known.
// Guarantees: LowerSchedule() makes exactly the reads, writes and transfers of the problem.

/// The memory spaces that a board keeps operands in, and the links between them.
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
  /// By storage: true if it must stay in its memory (constants, inputs, outputs, and what is too
  /// large); TimeStorage::slow of the others may be changed.
  std::vector<bool> fixed;
  std::vector<Index> value_of_tensor;  ///< by tensor: UINT32_MAX if it is not moved
  /// By tensor: itself or, if it only reshapes another tensor's elements in place, that tensor,
  /// which is moved; the reshaped tensor becomes a view on the copy.
  std::vector<TensorId> base;
};

struct ProblemOptions {
  /// Roots with more bytes are in slow memory, and ops work on copies of the windows that they
  /// touch.
  int64_t largest_fast_root = INT64_MAX;
  bool in_place = true;
  /// By OpId: index into Board::units. Null, shorter or kNone: the first unit that runs the op.
  const std::vector<int32_t>* unit_of_op = nullptr;
};

/// Makes the problem. Its tasks are the ops that execute, in the graph's order. Without slow
/// memory, or a transfer unit to reach it, everything is in fast memory, inputs from the start.
/// Errors (kInput): an op that no unit of the board runs.
[[nodiscard]] Result<ProgramProblem> MakeProgramProblem(const Graph& graph,
                                                        const Locations& locations,
                                                        const Board& board, const CostModel& model,
                                                        const ProblemOptions& options);

}  // namespace tenon::converter
