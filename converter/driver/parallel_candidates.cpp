#include "converter/driver/parallel_candidates.hpp"

#include <algorithm>
#include <utility>

#include "converter/stage/stage_units.hpp"
#include "converter/stage/step_program.hpp"
#include "converter/stage/thread_sharing.hpp"

namespace tenon::converter {
namespace {

/// Boards on which tensors are moved between memories have steps that a compiled program does not
/// keep: what is known is how long it takes.
bool MovesTensors(const Board& board) {
  return std::any_of(board.memory_spaces.begin(), board.memory_spaces.end(),
                     [](const MemorySpace& space) { return space.spill || space.stage_constants; });
}

/// Returns the program with its times stretched so that it takes `time` as it is.
Result<SimulatedProgram> Scaled(SimulatedProgram program, Picoseconds now, Picoseconds time) {
  const double factor = now > 0 ? static_cast<double>(time) / static_cast<double>(now) : 1.0;
  for (SimulatedStep& step : program.steps) {
    step.fixed = static_cast<Picoseconds>(static_cast<double>(step.fixed) * factor);
    step.compute = static_cast<Picoseconds>(static_cast<double>(step.compute) * factor);
    for (PortUse& use : step.uses) {
      use.bytes = static_cast<int64_t>(static_cast<double>(use.bytes) * factor);
    }
  }
  return program;
}

}  // namespace

std::vector<ThreadDivision> DivisionsOf(int threads, int most_workers) {
  using Mode = ParallelMode;
  std::vector<ThreadDivision> divisions = {{Mode::kIntra, 1, 1, threads}};
  for (int replicas = 1; replicas <= threads; ++replicas) {
    if (threads % replicas != 0) continue;
    const int each = threads / replicas;
    const bool several = replicas > 1;
    if (several && each == 1) divisions.push_back({Mode::kReplicas, replicas, 1, 1});
    if (each == 1) continue;
    if (several) divisions.push_back({Mode::kReplicasIntra, replicas, 1, each});
    if (each > most_workers) continue;
    divisions.push_back({several ? Mode::kReplicasInter : Mode::kInter, replicas, each, 1});
    divisions.push_back(
        {several ? Mode::kReplicasInterIntra : Mode::kInterIntra, replicas, each, each});
  }
  return divisions;
}

CallTimes::CallTimes(const CompileOptions& options)
    : options_(options), memory_(SharedBandwidthOf(options.board())) {
  for (const Unit& unit : options.board().units) devices_.push_back(unit.kind != "cpu");
}

SideBySide CallTimes::Options(int replicas, int64_t runs) const {
  SideBySide options;
  options.replicas = replicas;
  options.runs = runs;
  options.one_for_all = devices_;
  options.memory = memory_;
  if (replicas > 1) options.hand_over = TimeAtRate(kHandOverMicroseconds, 1e6);
  return options;
}

Result<Picoseconds> CallTimes::OfCompiled(const Compiled& compiled, int threads_per_op,
                                          int replicas, int64_t runs) const {
  const Board& board = options_.board();
  if (MovesTensors(board)) {
    SimulatedProgram whole;
    whole.units = {"program"};
    whole.steps.emplace_back();
    whole.steps[0].compute = compiled.time.after;
    return SideBySideTime(whole, Options(replicas, runs));
  }
  const ProgramSource source{compiled.graph, compiled.locations, compiled.arena, compiled.schedule,
                             board,          options_.profile};
  TENON_ASSIGN_OR_RETURN(const Simulation plain, Simulate(StepsOf(source, 1)));
  TENON_ASSIGN_OR_RETURN(const SimulatedProgram once, Scaled(StepsOf(source, threads_per_op),
                                                             plain.makespan, compiled.time.after));
  return SideBySideTime(once, Options(replicas, runs));
}

Result<Picoseconds> CallTimes::OfInter(const InterOpProgram& program, int helping_threads,
                                       int replicas, int64_t runs) const {
  SimulatedProgram once = program.simulated;
  TENON_ASSIGN_OR_RETURN(once, WithIdleHelp(once, helping_threads, program.helped));
  SideBySide options = Options(replicas, runs);
  options.one_for_all = program.is_device;
  return SideBySideTime(once, options);
}

}  // namespace tenon::converter
