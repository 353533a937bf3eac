#include "converter/stage/inter_op.hpp"

#include <algorithm>
#include <utility>

#include "converter/layout/lower.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/stage/assign_cores.hpp"
#include "converter/stage/stage_units.hpp"
#include "converter/stage/thread_sharing.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

/// Returns the board with a unit for every core. `first_core`: index of the first one.
Board WithCores(const Board& board, const Unit& cpu, int threads, int32_t& first_core) {
  Board cores = board;
  cores.units.clear();
  int others = 0;
  for (const Unit& unit : board.units) others += &unit != &cpu && !unit.IsTransferOnly() ? 1 : 0;
  const int most = std::min(threads, static_cast<int>(kMaxWorkers) - others);
  for (const Unit& unit : board.units) {
    if (&unit != &cpu) {
      cores.units.push_back(unit);
      continue;
    }
    first_core = static_cast<int32_t>(cores.units.size());
    Unit core = unit;
    core.threads = 1;
    for (int i = 0; i < std::max(1, std::min(most, unit.threads)); ++i) {
      cores.units.push_back(core);
    }
  }
  return cores;
}

/// Chooses kernels for the whole board, since they do not depend on which core runs an op.
Result<Locations> LowerForCores(const ProgramOptions& options, Graph& graph) {
  const auto costs = MakeCostModel(options.board(), options.profile);
  LowerOptions lower;
  lower.kernels = options.KernelsWith(*costs);
  lower.fallback = options.fallback;
  std::vector<PassReport> ignored;
  TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(graph, lower, ignored));
  return std::move(lowered.locations);
}

/// Returns units of the board with cores, by OpId, and orders the graph by the ops' starts.
std::vector<int32_t> DealOut(const Board& board, const CostModel& model, int32_t first_core,
                             int32_t cores, InterOpProgram& result) {
  const OrderProblem problem = MakeOrderProblem(result.graph, result.locations);
  std::vector<CoreTask> tasks;
  std::vector<int32_t> unit_of_worker;  // devices follow the cores
  for (int32_t core = 0; core < cores; ++core) unit_of_worker.push_back(first_core + core);
  for (size_t i = 0; i < problem.steps.size(); ++i) {
    const Op& op = result.graph.op(problem.steps[i]);
    const Unit* unit = UnitFor(board, op);
    CoreTask task;
    if (unit != nullptr) {
      const auto index = static_cast<int32_t>(unit - board.units.data());
      task.time = model.TimeOf(result.graph, op, *unit).Alone(board.PortBytesPerSecond(*unit));
      if (index < first_core || index >= first_core + cores) {
        auto found = std::find(unit_of_worker.begin(), unit_of_worker.end(), index);
        task.worker = static_cast<int32_t>(found - unit_of_worker.begin());
        if (found == unit_of_worker.end()) unit_of_worker.push_back(index);
      }
    }
    for (const Index need : problem.problem.nodes[i].predecessors) {
      task.needs.push_back(static_cast<int32_t>(need));
    }
    tasks.push_back(std::move(task));
  }
  const CoreAssignment dealt = AssignCores(tasks, cores, TimeAtRate(kHandOverMicroseconds, 1e6));
  std::vector<OpId> order;
  std::vector<int32_t> unit_of_op;
  for (const int32_t task : dealt.order) {
    const OpId id = problem.steps[static_cast<size_t>(task)];
    const auto k = static_cast<size_t>(id);
    order.push_back(id);
    if (unit_of_op.size() <= k) unit_of_op.resize(k + 1, kNone);
    const int32_t worker = dealt.worker[static_cast<size_t>(task)];
    unit_of_op[k] = unit_of_worker[static_cast<size_t>(worker)];
  }
  result.graph.SetOrder(WithElidedOps(result.graph, result.locations, order));
  return unit_of_op;
}

/// Returns the steps if every wait for another worker takes as long as waking a thread.
SimulatedProgram WithCostOfWaits(SimulatedProgram program, size_t& waits) {
  waits = 0;
  for (SimulatedStep& step : program.steps) {
    const auto crosses = std::count_if(step.waits.begin(), step.waits.end(), [&](int32_t wait) {
      return program.steps[static_cast<size_t>(wait)].unit != step.unit;
    });
    waits += static_cast<size_t>(crosses);
    if (crosses > 0) step.fixed += TimeAtRate(kHandOverMicroseconds, 1e6);
  }
  return program;
}

/// Fills in what is known of the steps' times.
Status PredictTimes(const Board& board, const Unit& cpu, const CostModel& model, int32_t cores,
                    InterOpProgram& result) {
  result.simulated = WithCostOfWaits(result.program.program, result.waits);
  TENON_ASSIGN_OR_RETURN(const Simulation simulation, Simulate(result.simulated));
  result.latency = simulation.makespan;
  for (const Unit& unit : board.units) result.is_device.push_back(unit.kind != "cpu");
  const ThreadSharing sharing(board, cpu, cores);
  for (size_t i = 0; i < result.simulated.steps.size(); ++i) {
    const Op& op = result.graph.op(result.program.arena.steps[i]);
    const Unit* unit = UnitFor(board, op);
    if (unit == nullptr || unit->kind != "cpu") {
      result.helped.push_back(1);
      continue;
    }
    const Picoseconds alone =
        model.TimeOf(result.graph, op, *unit).Alone(board.PortBytesPerSecond(*unit));
    result.helped.push_back(sharing.TimesFaster(result.graph, op, alone));
  }
  return {};
}

}  // namespace

ProgramToEmit InterOpProgram::ToEmit() const {
  ProgramToEmit emitted;
  emitted.name = name;
  emitted.mode = mode;
  emitted.graph = &graph;
  emitted.locations = &locations;
  emitted.arena = &program.arena;
  emitted.schedule = &program.schedule;
  emitted.worker_names = worker_names;
  return emitted;
}

Result<InterOpProgram> BuildInterOp(const Graph& graph, const ProgramOptions& options, int threads,
                                    ScheduleOptions schedule) {
  const Unit* cpu = ComputeUnit(options.board());
  if (cpu == nullptr) {
    return UsageError("'{}' has no CPU whose threads could run ops beside each other",
                      options.board().name);
  }
  int32_t first_core = 0;
  const Board board = WithCores(options.board(), *cpu, threads, first_core);
  const auto cores = static_cast<int32_t>(board.units.size() - options.board().units.size()) + 1;
  InterOpProgram result;
  result.graph = graph;
  TENON_ASSIGN_OR_RETURN(result.locations, LowerForCores(options, result.graph));
  const auto model = MakeCostModel(board, options.profile, &result.locations);
  schedule.unit_of_op = DealOut(board, *model, first_core, cores, result);
  TENON_ASSIGN_OR_RETURN(result.program,
                         MakeSchedule(result.graph, result.locations, board, *model, schedule));
  for (const int32_t unit : result.program.schedule.unit_of_worker) {
    result.worker_names.push_back(board.units[static_cast<size_t>(unit)].name);
  }
  TENON_RETURN_IF_ERROR(PredictTimes(options.board(), *cpu, *model, cores, result));
  return result;
}

}  // namespace tenon::converter
