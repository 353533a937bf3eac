// Expresses a graph as the problem of the memory program, and writes its solution into the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/ir/locations.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/solve/program/memory_steps.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

struct StepsOfGraph {
  MemoryStepsProblem problem;   ///< without limits
  std::vector<OpId> ops;        ///< by op of the problem: those that execute, in the graph's order
  std::vector<TensorId> roots;  ///< by storage
};

/// What ops and moves take.
struct StepTimes {
  std::function<int64_t(const Op& op)> run;
  /// Of moving bytes to slow memory and back; null: nothing is moved.
  std::function<int64_t(int64_t bytes)> out = nullptr;
  std::function<int64_t(int64_t bytes)> in = nullptr;
};

/// Makes the problem. Requires: kernels chosen, layouts assigned, locations known. Tensors that are
/// windows on one storage share it. An op may run again if it alone writes all of a storage that
/// is no port of the graph; a storage may move if it is no port and all tensors on it that ops read
/// can be seen as views of its root. Inputs of `outside` are in no storage.
[[nodiscard]] StepsOfGraph MakeStepsProblem(const Graph& graph, const Locations& locations,
                                            const StepTimes& times,
                                            const OutsideInputs& outside = {});

/// What RunSteps has made.
struct RanSteps {
  std::vector<OpId> steps;     ///< by step: the op that does it
  std::vector<TensorId> slow;  ///< tensors that belong into slow memory
  int repeated = 0;            ///< runs beyond each op's first
  int moves = 0;               ///< copies between memories
};

/// Changes the graph so that its order is that of the steps. Ops that run again, with the views
/// that lead to them, become ops of their own with tensors of their own, and moves become copies;
/// later ops read what was made last. Locations must be assigned again. Errors (kInternal): the
/// steps are not valid for the problem.
[[nodiscard]] Result<RanSteps> RunSteps(Graph& graph, const Locations& locations,
                                        const StepsOfGraph& problem,
                                        const std::vector<MemoryStep>& steps);

}  // namespace tenon::converter
