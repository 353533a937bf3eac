#include "converter/stage/step_program.hpp"

#include <utility>

#include "converter/cost/simulated_board.hpp"
#include "converter/stage/thread_sharing.hpp"

namespace tenon::converter {
namespace {

/// Makes steps of ops.
class StepMaker {
 public:
  StepMaker(const ProgramSource& source, int threads_per_op)
      : source_(source),
        board_(source.board),
        model_(MakeCostModel(source.board, source.profile, &source.locations)),
        cpu_(ComputeUnit(source.board)),
        sharing_(source.board, cpu_ != nullptr ? *cpu_ : source.board.units.front(),
                 threads_per_op) {}

  [[nodiscard]] SimulatedProgram Empty() const { return board_.units_and_ports(); }

  /// `unit`: index into Board::units, or kNone for the first that runs the op.
  [[nodiscard]] SimulatedStep Step(OpId id, int32_t unit) const {
    const Op& op = source_.graph.op(id);
    const Unit* runs = unit == kNone ? UnitFor(source_.board, op)
                                     : &source_.board.units[static_cast<size_t>(unit)];
    if (runs == nullptr || runs->IsTransferOnly()) return {};
    OpTime time = model_->TimeOf(source_.graph, op, *runs);
    const Picoseconds alone = time.Alone(source_.board.PortBytesPerSecond(*runs));
    const double faster = runs == cpu_ ? sharing_.TimesFaster(source_.graph, op, alone) : 1.0;
    time.compute = static_cast<Picoseconds>(static_cast<double>(time.compute) / faster);
    SimulatedStep step =
        board_.OpStep(static_cast<int32_t>(runs - source_.board.units.data()), time);
    // Threads have a port each; what they share is shared all the same.
    if (!step.uses.empty()) {
      step.uses[0].bytes = static_cast<int64_t>(static_cast<double>(time.bytes) / faster);
    }
    return step;
  }

 private:
  const ProgramSource& source_;
  SimulatedBoard board_;
  std::unique_ptr<CostModel> model_;
  const Unit* cpu_;
  ThreadSharing sharing_;
};

SimulatedProgram Chain(const ProgramSource& source, const StepMaker& maker) {
  SimulatedProgram program = maker.Empty();
  for (const OpId id : source.arena.steps) {
    SimulatedStep step = maker.Step(id, kNone);
    if (!program.steps.empty()) step.waits = {static_cast<int32_t>(program.steps.size()) - 1};
    program.steps.push_back(std::move(step));
  }
  return program;
}

}  // namespace

SimulatedProgram StepsOf(const ProgramSource& source, int threads_per_op) {
  const StepMaker maker(source, threads_per_op);
  const Schedule& schedule = source.schedule;
  if (schedule.workers.empty()) return Chain(source, maker);
  SimulatedProgram program = maker.Empty();
  std::vector<int32_t> first_of_worker;
  for (size_t worker = 0; worker < schedule.workers.size(); ++worker) {
    first_of_worker.push_back(static_cast<int32_t>(program.steps.size()));
    for (const ScheduledStep& step : schedule.workers[worker]) {
      program.steps.push_back(maker.Step(step.op, schedule.unit_of_worker[worker]));
    }
  }
  size_t index = 0;
  for (const auto& worker : schedule.workers) {
    for (const ScheduledStep& step : worker) {
      for (const ScheduledWait& wait : step.waits) {
        program.steps[index].waits.push_back(first_of_worker[static_cast<size_t>(wait.worker)] +
                                             wait.step);
      }
      ++index;
    }
  }
  return program;
}

}  // namespace tenon::converter
