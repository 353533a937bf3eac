#include "converter/driver/compile.hpp"

#include <algorithm>
#include <utility>

#include "converter/code/code_memory.hpp"
#include "converter/driver/apply_memory_program.hpp"
#include "converter/driver/memory_needs.hpp"
#include "converter/driver/predict_time.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/layout/lower.hpp"
#include "converter/layout/storage_uses.hpp"
#include "converter/schedule/conditional_ops.hpp"
#include "converter/schedule/optimal_mapping.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/order/list_orders.hpp"
#include "converter/stage/group_sources.hpp"

namespace tenon::converter {
namespace {

Status LowerMapped(const CompileOptions& options, Compiled& compiled) {
  const auto costs = MakeCostModel(options.board(), options.profile);
  LowerOptions lower;
  lower.kernels = options.KernelsWith(*costs);
  lower.fallback = options.fallback;
  lower.laid_out = options.laid_out.get();
  lower.locate.run = [&options](Graph& graph, PassContext& context) -> Status {
    TENON_ASSIGN_OR_RETURN(context.locations,
                           AssignLocations(graph, context.report, nullptr, options.arena.outside));
    return {};
  };
  TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(compiled.graph, lower, compiled.passes));
  compiled.mapping = std::move(lowered.mapping);
  compiled.locations = std::move(lowered.locations);
  return {};
}

// What a unit of a search's work takes, for limits of time.
constexpr double kPlacementSeconds = 1e-6;  // PlaceOptions::work_budget
constexpr double kOrderSeconds = 2e-6;      // MemoryOrderOptions and TimeSearchOptions
constexpr double kMoveSeconds = 1e-6;       // FuseOptions::improve_work

/// Returns a function that forwards the progress of one search.
ProgressFunction ProgressOf(const CompileOptions& options, const char* what) {
  if (!options.progress) return {};
  return [&options, what](double share) { options.progress(what, share); };
}

ArenaOptions ArenaOptionsOf(const CompileOptions& options) {
  ArenaOptions arena = options.arena;
  arena.place.progress = ProgressOf(options, "placing");
  arena.place.work_budget = options.time_limit.Within(arena.place.work_budget, kPlacementSeconds);
  return arena;
}

/// Returns the order of nodes that the mode asks for, or none to keep the model's.
std::optional<std::vector<Index>> ProposeOrder(const MemoryProblem& problem,
                                               const CompileOptions& compile_options,
                                               OrderReport& report) {
  const OrderOptions& options = compile_options.order;
  switch (options.mode) {
    case OrderMode::kSource:
      return std::nullopt;
    case OrderMode::kRandom:
      return RandomOrder(problem, options.seed);
    case OrderMode::kGiven:
      return PriorityOrder(problem, options.priority);
    case OrderMode::kSearch:
      break;
  }
  MemoryOrderOptions search;
  search.work_budget = compile_options.time_limit.Within(options.budget, kOrderSeconds);
  search.seed = options.seed;
  search.key_nodes = options.key_nodes;
  search.smallest_subgraph = options.subgraph_ops;
  search.progress = ProgressOf(compile_options, "ordering");
  MemoryOrderMemo none;
  report.search = FindMemoryOrder(problem, search, options.memo ? *options.memo : none);
  if (report.search.peak >= report.search.source_peak) return std::nullopt;
  return report.search.order;
}

/// Places the ops in the model's order and in the one proposed. A search's order is kept only if
/// its arena is smaller, because live bytes do not include gaps; ties keep the model's order.
Status OrderAndPlace(const CompileOptions& options, Compiled& compiled) {
  Graph& graph = compiled.graph;
  const ArenaOptions arena_options = ArenaOptionsOf(options);
  compiled.arena = PlanArena(graph, compiled.locations, arena_options);
  MemoryReport& memory = compiled.memory;
  memory.source_order_bytes = compiled.arena.bytes;
  memory.place_work = compiled.arena.place_work;
  OrderReport& report = compiled.order;
  report.mode = options.order.mode;
  report.seed = options.order.seed;
  if (options.order.mode == OrderMode::kSource) return {};
  OrderProblem problem = MakeOrderProblem(graph, compiled.locations, options.arena.outside);
  if (HasConditions(options.board())) {
    PutConditionsFirst(graph, compiled.locations, options.arena.outside, problem);
  }
  const auto proposed = ProposeOrder(problem.problem, options, report);
  if (!proposed) return {};
  const std::vector<OpId> source_order = graph.OpOrder();
  std::vector<OpId> steps;
  steps.reserve(proposed->size());
  for (const Index node : *proposed) steps.push_back(problem.steps[node]);
  graph.SetOrder(WithElidedOps(graph, compiled.locations, steps));
  TENON_RETURN_IF_ERROR(Verify(graph));
  ArenaPlan candidate = PlanArena(graph, compiled.locations, arena_options);
  memory.place_work += candidate.place_work;
  report.changed =
      options.order.mode != OrderMode::kSearch || candidate.bytes < compiled.arena.bytes;
  if (report.changed) {
    compiled.arena = std::move(candidate);
  } else {
    graph.SetOrder(source_order);
  }
  return {};
}

/// Chooses what starts together, and places it, in the order that has been found with every group
/// as one. Groups are given up where the memory would not do: those that save least first.
Status PlaceGroups(const CompileOptions& options, Compiled& compiled) {
  const auto model = MakeCostModel(options.board(), options.profile, &compiled.locations);
  BranchOptions branches = options.branches;
  branches.improve_work = options.time_limit.Within(branches.improve_work, kMoveSeconds);
  StartGroups chosen =
      ChooseStartGroups(compiled.graph, compiled.locations, options.board(), *model, branches);
  compiled.branches = std::move(chosen.report);
  if (options.objective == Objective::kMemory && !chosen.groups.empty()) {
    RefuseGroups(compiled.graph, chosen.groups, "the objective is memory", compiled.branches);
    return {};
  }
  // While a limit is searched for, the board is without one: groups must not use what that leaves.
  const int64_t usable = options.branches.space_bytes > 0
                             ? options.branches.space_bytes
                             : options.board().ArenaSpace()->usable_bytes();
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(compiled, options.board()));
  const int64_t limit = std::max(usable - beside, compiled.arena.bytes);
  while (!chosen.groups.empty()) {
    ArenaOptions arena_options = ArenaOptionsOf(options);
    const std::vector<OpId> steps =
        GroupedSteps(compiled.graph, compiled.locations, compiled.arena.steps, chosen.groups,
                     arena_options.groups);
    const std::vector<OpId> order = compiled.graph.OpOrder();
    compiled.graph.SetOrder(WithElidedOps(compiled.graph, compiled.locations, steps));
    TENON_RETURN_IF_ERROR(Verify(compiled.graph));
    ArenaPlan arena = PlanArena(compiled.graph, compiled.locations, arena_options);
    if (arena.bytes <= limit) {
      compiled.arena = std::move(arena);
      compiled.group_sources =
          MakeGroupSources(compiled.graph, compiled.locations, compiled.arena.groups);
      return {};
    }
    compiled.graph.SetOrder(order);
    const size_t kept = chosen.groups.size() / 2;
    const std::vector<std::vector<OpId>> refused(
        chosen.groups.begin() + static_cast<std::ptrdiff_t>(kept), chosen.groups.end());
    RefuseGroups(compiled.graph, refused, "what they use does not fit the memory at once",
                 compiled.branches);
    chosen.groups.resize(kept);
  }
  return {};
}

std::vector<UnitTime> UnitTimes(const ScheduledProgram& before, const ScheduledProgram& after) {
  std::vector<UnitTime> units;
  for (size_t i = 0; i < after.program.units.size(); ++i) {
    const Picoseconds was = i < before.simulation.busy.size() ? before.simulation.busy[i] : 0;
    units.push_back({after.program.units[i], was, after.simulation.busy[i]});
  }
  return units;
}

ScheduleOptions ScheduleOptionsOf(const CompileOptions& options) {
  ScheduleOptions schedule;
  schedule.search.work_budget = options.time_limit.Within(options.order.budget, kOrderSeconds);
  schedule.search.count_budget = std::min(schedule.search.count_budget, options.order.budget);
  schedule.search.seed = options.order.seed;
  schedule.search.smallest_subgraph = options.order.subgraph_ops;
  if (!options.order.key_nodes) schedule.search.smallest_subgraph = INT32_MAX;
  schedule.search.target = options.order.target();
  schedule.search_order = options.order.mode == OrderMode::kSearch;
  schedule.aggregate = options.aggregate;
  schedule.arena = ArenaOptionsOf(options);
  schedule.search.progress = ProgressOf(options, "ordering");
  return schedule;
}

/// Sets the random order, or the one that is given.
Status SetOrder(const OrderOptions& options, Compiled& compiled) {
  const OrderProblem problem = MakeOrderProblem(compiled.graph, compiled.locations);
  std::vector<OpId> steps;
  for (const Index node : options.mode == OrderMode::kRandom
                              ? RandomOrder(problem.problem, options.seed)
                              : PriorityOrder(problem.problem, options.priority)) {
    steps.push_back(problem.steps[node]);
  }
  compiled.graph.SetOrder(WithElidedOps(compiled.graph, compiled.locations, steps));
  return Verify(compiled.graph);
}

/// Returns the program in the model's own order, for comparison. None if it does not fit.
std::optional<ScheduledProgram> ScheduleSourceOrder(const CompileOptions& options,
                                                    const Compiled& compiled) {
  Graph graph = compiled.graph;
  Locations locations = compiled.locations;
  const auto model = MakeCostModel(options.board(), options.profile, &locations);
  ScheduleOptions schedule = ScheduleOptionsOf(options);
  schedule.search_order = false;
  auto program = MakeSchedule(graph, locations, options.board(), *model, schedule);
  if (!program.ok()) return std::nullopt;
  return std::move(*program);
}

/// Schedules units that run concurrently: order, transfers and placement depend on each other and
/// on time.
Status ScheduleUnits(const CompileOptions& options, Compiled& compiled) {
  OrderReport& order = compiled.order;
  order.mode = options.order.mode;
  order.seed = options.order.seed;
  std::optional<ScheduledProgram> before;
  if (options.order.mode != OrderMode::kSource) before = ScheduleSourceOrder(options, compiled);
  if (options.order.mode == OrderMode::kRandom || options.order.mode == OrderMode::kGiven) {
    TENON_RETURN_IF_ERROR(SetOrder(options.order, compiled));
  }
  const auto model = MakeCostModel(options.board(), options.profile, &compiled.locations);
  TENON_ASSIGN_OR_RETURN(ScheduledProgram after,
                         MakeSchedule(compiled.graph, compiled.locations, options.board(), *model,
                                      ScheduleOptionsOf(options)));
  const ScheduledProgram& source = before ? *before : after;
  compiled.time.before = source.simulation.makespan;
  compiled.time.after = after.simulation.makespan;
  compiled.time.lower_bound = after.order.bound.bound;
  compiled.time.units = UnitTimes(source, after);
  compiled.time.measured = options.profile != nullptr;
  compiled.memory.source_order_bytes = source.arena.bytes;
  compiled.memory.place_work = after.arena.place_work;
  order.changed = options.order.mode != OrderMode::kSource;
  order.time = std::move(after.order);
  compiled.segments = after.segments;
  compiled.arena = std::move(after.arena);
  compiled.schedule = std::move(after.schedule);
  return {};
}

/// Returns the only unit that runs ops. Null if there are several, or if the unit needs segments,
/// because each op starts it separately, the plan has fall-backs, or it has memory of its own.
const Unit* OnlyUnit(const CompileOptions& options, const Graph& graph,
                     const std::vector<OpId>& ops) {
  const Board& board = options.board();
  if (!NeedsSchedule(board)) return ComputeUnit(board);
  if (MemoryOf(board).slow != nullptr) return nullptr;
  const Unit* only = nullptr;
  for (const OpId id : ops) {
    const Unit* unit = UnitFor(board, graph.op(id));
    if (unit == nullptr || (only != nullptr && unit != only)) return nullptr;
    only = unit;
  }
  if (only == nullptr) return ComputeUnit(board);
  const bool per_segment =
      options.fallback || !options.aggregate || board.SpaceOf(*only) != board.ArenaSpace();
  return only->backend != "cpu" && per_segment ? nullptr : only;
}

std::vector<OpId> ExecutedOps(const Graph& graph, const Locations& locations) {
  std::vector<OpId> ops = graph.OpOrder();
  std::erase_if(ops, [&](OpId id) { return locations.elided[static_cast<size_t>(id)]; });
  return ops;
}

/// Compiles with the table's mapping, or as KernelChoiceOptions::assigned says.
Result<Compiled> CompileMapped(Graph graph, const CompileOptions& options) {
  Compiled compiled;
  compiled.graph = std::move(graph);
  TENON_RETURN_IF_ERROR(LowerMapped(options, compiled));
  const OrderProblem as_modelled =
      MakeOrderProblem(compiled.graph, compiled.locations, options.arena.outside);
  compiled.order.key_nodes = KeyNodeNames(compiled.graph, as_modelled);
  const std::vector<OpId> executed = ExecutedOps(compiled.graph, compiled.locations);
  const Unit* only = OnlyUnit(options, compiled.graph, executed);
  if (NeedsSchedule(options.board()) && only == nullptr) {
    TENON_RETURN_IF_ERROR(ScheduleUnits(options, compiled));
  } else {
    if (only != nullptr) PredictOnOneUnit(options, *only, executed, compiled);
    TENON_RETURN_IF_ERROR(OrderAndPlace(options, compiled));
    if (only != nullptr) PredictInArena(options, *only, executed, compiled);
    if (only != nullptr) {
      TENON_RETURN_IF_ERROR(ApplyMemoryProgram(options, *only, compiled));
      PredictProgramInArena(options, *only, compiled);
    }
    TENON_RETURN_IF_ERROR(PlaceGroups(options, compiled));
  }
  if (options.profile != nullptr && compiled.time.measured) {
    compiled.time.sources = SourcesOf(compiled.graph, compiled.locations, compiled.arena.steps,
                                      options.board(), *options.profile);
  }
  if (options.order.target() > 0 && compiled.time.after > 0) {
    compiled.order.target_met = compiled.time.after <= options.order.target();
  }
  // Limits are for what is in memory: whether a program fits is asked from here on.
  KeepOnChip(options.board(), SequentialProgram(compiled, options.board()), compiled.arena);
  compiled.order.executed = NodesOf(as_modelled, compiled.arena.steps);
  MemoryReport& memory = compiled.memory;
  memory.space = options.board().ArenaSpace()->name;
  memory.arena_bytes = compiled.arena.bytes;
  for (const PlannedArena& arena : compiled.arena.arenas) {
    if (arena.space.empty() || arena.space == memory.space) continue;
    memory.beside.push_back({arena.space, arena.bytes});
  }
  memory.lower_bound = compiled.arena.lower_bound;
  memory.proven_optimal = compiled.arena.proven_optimal;
  memory.unsplit_bytes = compiled.arena.bytes;
  if (compiled.schedule.workers.empty() && options.board().DirectSpace() == nullptr) {
    const LargestOp largest =
        FindLargestOp(compiled.graph, compiled.locations, compiled.arena.steps, options.arena);
    if (largest.op != kNone) memory.largest_op = compiled.graph.op(largest.op).name;
    memory.largest_op_bytes = largest.bytes;
  }
  return compiled;
}

/// Marks the ops whose in-place kernels bring no benefit, because placement did not let the output
/// take over the input's bytes. Returns false if there are none.
bool MarkIdleInPlace(const Compiled& compiled, std::vector<bool>& idle) {
  bool found = false;
  for (const OpId id : compiled.graph.OpOrder()) {
    const auto k = static_cast<size_t>(id);
    if (!CapsOf(compiled.graph.op(id)).in_place_only) continue;
    if (k < compiled.arena.in_place.size() && compiled.arena.in_place[k] >= 0) continue;
    if (idle.size() <= k) idle.resize(k + 1, false);
    idle[k] = found = true;
  }
  return found;
}

/// Returns the bytes that each step takes, without the workspaces of ops that work in place, and
/// with an output apart from the input that it takes over.
std::vector<int64_t> TakenWithoutRows(const Compiled& compiled) {
  const ArenaPlan& arena = compiled.arena;
  std::vector<int64_t> taken =
      TakenBytes(arena, kStorageAlignment, [&](const PlannedStorage& storage) {
        const OpId op = storage.workspace_of;
        return op == kNone || !CapsOf(compiled.graph.op(op)).in_place_only;
      });
  for (size_t step = 0; step < taken.size(); ++step) {
    const auto id = static_cast<size_t>(arena.steps[step]);
    if (id >= arena.in_place.size() || arena.in_place[id] < 0) continue;
    const Op& op = compiled.graph.op(arena.steps[step]);
    taken[step] += PaddedBytes(compiled.graph.tensor(op.outputs[0]).ByteSize());
  }
  return taken;
}

/// Marks the ops that work in place although the arena has enough space for both their input and
/// their output: other kernels are faster.
bool MarkNeedlessInPlace(const Compiled& compiled, std::vector<bool>& needless) {
  const std::vector<int64_t> taken = TakenWithoutRows(compiled);
  bool found = false;
  for (size_t step = 0; step < compiled.arena.steps.size(); ++step) {
    const OpId id = compiled.arena.steps[step];
    const Op& op = compiled.graph.op(id);
    if (!CapsOf(op).in_place_only || taken[step] > compiled.arena.bytes) continue;
    const auto k = static_cast<size_t>(id);
    if (needless.size() <= k) needless.resize(k + 1, false);
    needless[k] = found = true;
  }
  return found;
}

/// Compiles with in-place kernels where that makes the arena smaller, and with others elsewhere.
Result<Compiled> CompileInPlace(const Graph& graph, CompileOptions options) {
  constexpr int kMostTries = 3;  // leaving out some kernels changes whether others pay
  for (int tries = 1;; ++tries) {
    TENON_ASSIGN_OR_RETURN(Compiled compiled, CompileMapped(graph, options));
    if (MarkIdleInPlace(compiled, options.kernels.not_in_place) && tries < kMostTries) continue;
    if (!MarkNeedlessInPlace(compiled, options.kernels.not_in_place)) return compiled;
    TENON_ASSIGN_OR_RETURN(Compiled fewer, CompileMapped(graph, options));
    return fewer.arena.bytes <= compiled.arena.bytes ? std::move(fewer) : std::move(compiled);
  }
}

/// Returns the time to minimise: of one inference, or of the busiest unit per input of a stream.
Picoseconds TimeThatCounts(const CompileOptions& options, const Compiled& compiled) {
  if (options.objective != Objective::kThroughput) return compiled.time.after;
  Picoseconds busiest = 0;
  for (const UnitTime& unit : compiled.time.units) busiest = std::max(busiest, unit.after);
  return busiest;
}

/// Returns true if the program that is kept takes what the bound says that every mapping takes, but
/// for the rounding of its ops' times.
bool IsProved(const MappingReport& report, const Compiled& kept) {
  const Picoseconds time = std::min(report.optimal, report.table == 0 ? INT64_MAX : report.table);
  return time <= report.bound + static_cast<Picoseconds>(kept.arena.steps.size());
}

/// Compiles both mappings, because only compiled programs show layouts, views and placement.
Result<Compiled> CompileOptimal(const Graph& graph, const CompileOptions& options) {
  const auto costs = MakeCostModel(options.board(), options.profile);
  constexpr int64_t kLooksPerUnitOfWork = 20;
  OptimalMapOptions search;
  const int64_t budget = options.time_limit.Within(options.order.budget, kOrderSeconds);
  search.work_budget = std::min(budget, INT64_MAX / 64) * kLooksPerUnitOfWork;
  search.seed = options.order.seed;
  const bool for_period = options.objective == Objective::kThroughput;
  TENON_ASSIGN_OR_RETURN(
      const OptimalChoice choice,
      ChooseOptimalMap(graph, options.KernelsWith(*costs),
                       for_period ? MapObjective::kPeriod : MapObjective::kLatency, search));
  MappingReport report;
  report.mode = MappingMode::kOptimal;
  report.for_period = for_period;
  report.tried = choice.map.tried;
  report.bound = choice.map.bound;
  Result<Compiled> table = CompileMapped(graph, options);
  if (!choice.differs) {
    if (table.ok()) {
      report.table = report.optimal = TimeThatCounts(options, *table);
      report.exact = IsProved(report, *table);
      table->mapping_report = report;
    }
    return table;
  }
  CompileOptions assigned = options;
  assigned.kernels.assigned = choice.backend;
  assigned.kernels.assigned_unit = choice.unit;
  Result<Compiled> optimal = CompileMapped(graph, assigned);
  if (!optimal.ok()) return table;
  report.optimal = TimeThatCounts(options, *optimal);
  report.table = table.ok() ? TimeThatCounts(options, *table) : 0;
  report.chose_optimal = !table.ok() || report.optimal < report.table;
  Result<Compiled>& best = report.chose_optimal ? optimal : table;
  report.exact = IsProved(report, *best);
  best->mapping_report = report;
  return std::move(best);
}

}  // namespace

Result<bool> RunsOnOneUnit(const Graph& graph, const CompileOptions& options) {
  if (!NeedsSchedule(options.board())) return true;
  if (options.mapping == MappingMode::kOptimal) return false;
  Graph mapped = graph;
  const auto costs = MakeCostModel(options.board(), options.profile);
  TENON_ASSIGN_OR_RETURN(const auto mapping, ChooseKernels(mapped, options.KernelsWith(*costs)));
  return OnlyUnit(options, mapped, mapped.OpOrder()) != nullptr;
}

Result<Compiled> Compile(Graph graph, const CompileOptions& options) {
  const bool has_choice = NeedsSchedule(options.board());
  if (options.mapping == MappingMode::kOptimal && has_choice) return CompileOptimal(graph, options);
  if (options.kernels.in_place) return CompileInPlace(graph, options);
  return CompileMapped(std::move(graph), options);
}

}  // namespace tenon::converter
