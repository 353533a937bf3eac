// The arena that a graph really needs: kernels, layouts, views, order and placement as in a
// conversion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/layout/lower.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/split/patch_plan.hpp"

namespace tenon::converter {

struct MeasureOptions {
  bool portable = false;
  int threads = 1;
  std::optional<int64_t> most_workspace = {};  ///< of one op
  int64_t order_budget = 0;  ///< 0: the graph's own order; patches stand in a good one
  int64_t place_budget = 200'000;
  bool follow = false;  ///< ArenaOptions::follow
};

struct MeasuredArena {
  Graph graph;
  Locations locations;
  ArenaPlan arena;
  std::vector<PassReport> passes;
};

[[nodiscard]] inline Result<MeasuredArena> PlaceGraph(Graph graph, const MeasureOptions& options) {
  MeasuredArena result;
  LowerOptions lower;
  KernelChoiceOptions& kernels = lower.kernels;
  kernels.portable_only = options.portable;
  kernels.threads = options.threads;
  kernels.workspace_limit = options.most_workspace;
  TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(graph, lower, result.passes));
  result.locations = std::move(lowered.locations);
  ArenaOptions arena;
  arena.place.work_budget = options.place_budget;
  arena.follow = options.follow;
  result.arena = PlanArena(graph, result.locations, arena);
  if (options.order_budget == 0) {
    result.graph = std::move(graph);
    return result;
  }
  const OrderProblem order = MakeOrderProblem(graph, result.locations);
  MemoryOrderOptions order_options;
  order_options.work_budget = options.order_budget;
  const MemoryOrder found = FindMemoryOrder(order.problem, order_options);
  if (found.peak < found.source_peak) {
    std::vector<OpId> steps;
    for (const Index node : found.order) steps.push_back(order.steps[node]);
    Graph reordered = graph;
    reordered.SetOrder(WithElidedOps(graph, result.locations, steps));
    ArenaPlan candidate = PlanArena(reordered, result.locations, arena);
    if (candidate.bytes < result.arena.bytes) {
      result.arena = std::move(candidate);
      graph = std::move(reordered);
    }
  }
  result.graph = std::move(graph);
  return result;
}

/// For FitMemory.
[[nodiscard]] inline MeasureMemory MeasureWith(const MeasureOptions& options) {
  return [options](const Graph& graph, const MemorySplit&) -> Result<MeasuredCut> {
    TENON_ASSIGN_OR_RETURN(const MeasuredArena measured, PlaceGraph(graph, options));
    return MeasuredCut(measured.arena.bytes);
  };
}

}  // namespace tenon::converter
