// Finds ops whose work is of no use in runs that go another way: what a select by one bool does not
// choose need not be computed. Models say so by `If`, whose branches both become ops.
#pragma once

#include <unordered_map>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {

/// An op has to run only where the one bool of `tensor` is `runs_if`.
struct RunCondition {
  TensorId tensor = kNone;
  bool runs_if = false;

  friend bool operator==(const RunCondition&, const RunCondition&) = default;
};

/// False of boards whose runtime is firmware, which runs every op in every run.
[[nodiscard]] bool HasConditions(const Board& board);

/// Returns the conditions of those of `steps`, which one worker runs in this order, that have one:
/// ops of the CPU of whose results nothing is read but by others of the same condition, and by the
/// selects that this condition decides. It is known before they run. Ops that copy rows of an input
/// of `outside` always run. O(operands), some times over where parts of a storage are read early.
[[nodiscard]] std::unordered_map<OpId, RunCondition> FindConditions(
    const Graph& graph, const Locations& locations, const std::vector<OpId>& steps,
    const OutsideInputs& outside = {});

/// Has every op with a condition come after what makes it, in whatever order: behind its branch a
/// bool would let the branch run always. `problem` is of the graph, whose order may be another.
void PutConditionsFirst(const Graph& graph, const Locations& locations,
                        const OutsideInputs& outside, OrderProblem& problem);

}  // namespace tenon::converter
