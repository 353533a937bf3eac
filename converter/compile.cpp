#include "converter/compile.hpp"

#include <random>
#include <utility>

#include "converter/order/order_graph.hpp"
#include "converter/order/random_order.hpp"
#include "converter/passes/assign_layouts.hpp"
#include "converter/passes/lay_out_weights.hpp"

namespace tenon::converter {
namespace {

Status ChooseKernelsAndLayouts(const CompileOptions& options, Compiled& compiled) {
  Graph& graph = compiled.graph;
  TENON_ASSIGN_OR_RETURN(compiled.mapping, ChooseKernels(graph, options.kernels));
  if (Status status = RunPass({"assign-layouts", AssignLayouts}, graph, compiled.passes);
      !status.ok()) {
    return status.error();
  }
  if (Status status = RunPass({"lay-out-weights", LayOutWeights}, graph, compiled.passes);
      !status.ok()) {
    return status.error();
  }
  PassReport views{"assign-locations", 0, {}};
  TENON_ASSIGN_OR_RETURN(compiled.locations, AssignLocations(graph, views));
  compiled.passes.push_back(std::move(views));
  return Verify(graph);
}

/// The order of nodes that the mode asks for, or none to keep the model's.
std::optional<std::vector<Index>> ProposeOrder(const MemoryProblem& problem,
                                               const OrderOptions& options, OrderReport& report) {
  switch (options.mode) {
    case OrderMode::kSource:
      return std::nullopt;
    case OrderMode::kRandom:
      return RandomOrder(problem, options.seed);
    case OrderMode::kSearch:
      break;
  }
  MemoryOrderOptions search;
  search.work_budget = options.budget;
  search.seed = options.seed;
  search.key_nodes = options.key_nodes;
  report.search = FindMemoryOrder(problem, search);
  if (report.search.peak >= report.search.source_peak) return std::nullopt;
  return report.search.order;
}

/// Places the ops in the model's order and in the one proposed. A search's order is kept only if
/// its arena is smaller, because live bytes say nothing of gaps; ties keep the model's order.
Status OrderAndPlace(const CompileOptions& options, Compiled& compiled) {
  Graph& graph = compiled.graph;
  ArenaOptions arena_options;
  arena_options.work_budget = options.place_budget;
  compiled.arena = PlanArena(graph, compiled.locations, arena_options);
  MemoryReport& memory = compiled.memory;
  memory.source_order_bytes = compiled.arena.bytes;
  memory.place_work = compiled.arena.place_work;
  OrderReport& report = compiled.order;
  report.mode = options.order.mode;
  report.seed = options.order.seed;
  if (options.order.mode == OrderMode::kSource) return {};
  const OrderProblem problem = MakeOrderProblem(graph, compiled.locations);
  const auto proposed = ProposeOrder(problem.problem, options.order, report);
  if (!proposed) return {};
  const std::vector<OpId> source_order = graph.OpOrder();
  std::vector<OpId> steps;
  steps.reserve(proposed->size());
  for (const Index node : *proposed) steps.push_back(problem.steps[node]);
  graph.SetOrder(WithElidedOps(graph, compiled.locations, steps));
  if (Status status = Verify(graph); !status.ok()) return status;
  ArenaPlan candidate = PlanArena(graph, compiled.locations, arena_options);
  memory.place_work += candidate.place_work;
  report.changed =
      options.order.mode == OrderMode::kRandom || candidate.bytes < compiled.arena.bytes;
  if (report.changed) {
    compiled.arena = std::move(candidate);
  } else {
    graph.SetOrder(source_order);
  }
  return {};
}

/// On one unit every order takes the same time: the sum of the ops'.
void PredictOnOneUnit(const CompileOptions& options, Compiled& compiled) {
  if (options.cost == nullptr) return;
  const Unit* unit = ComputeUnit(*options.board);
  if (unit == nullptr) return;
  double bandwidth = unit->port_bytes_per_second;
  if (bandwidth == 0) bandwidth = options.board->ArenaSpace()->bandwidth_bytes_per_second;
  Picoseconds total = 0;
  TimeReport& time = compiled.time;
  for (const OpId id : compiled.arena.steps) {
    const OpTime op = options.cost->TimeOf(compiled.graph, compiled.graph.op(id), *unit);
    total += op.Alone(bandwidth);
    time.measured = time.measured || op.measured;
  }
  time.before = time.after = time.lower_bound = total;
  time.units = {{unit->name, total, total}};
}

}  // namespace

Result<Compiled> Compile(Graph graph, const CompileOptions& options) {
  Compiled compiled;
  compiled.graph = std::move(graph);
  if (Status status = ChooseKernelsAndLayouts(options, compiled); !status.ok()) {
    return status.error();
  }
  if (Status status = OrderAndPlace(options, compiled); !status.ok()) return status.error();
  PredictOnOneUnit(options, compiled);
  MemoryReport& memory = compiled.memory;
  memory.space = options.board->ArenaSpace()->name;
  memory.arena_bytes = compiled.arena.bytes;
  memory.lower_bound = compiled.arena.lower_bound;
  memory.proven_optimal = compiled.arena.proven_optimal;
  memory.unsplit_bytes = compiled.arena.bytes;
  return compiled;
}

}  // namespace tenon::converter
