#include "converter/solve/stage/simulate_pipeline.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int32_t kInputsToLookAt = 96;

/// Unrolls the stages over the inputs: step n * stages + s is stage s of input n. Waits are those
/// of the plan's channels: for the stages that write what a stage reads, and for those that read
/// what it wrote `depth` inputs before.
class Unroller {
 public:
  Unroller(const std::vector<PipelineStage>& stages, const std::vector<PipelineChannel>& channels)
      : stages_(stages), channels_(channels) {
    size_t units = 0;
    for (const PipelineStage& stage : stages) {
      units = std::max(units, static_cast<size_t>(stage.unit) + 1);
    }
    program_.units.resize(units, "unit");
    program_.takes_ready.assign(units, true);
  }

  SimulatedProgram Run(int32_t inputs) {
    for (int32_t input = 0; input < inputs; ++input) {
      for (size_t stage = 0; stage < stages_.size(); ++stage) AddStep(input, stage);
    }
    return std::move(program_);
  }

 private:
  [[nodiscard]] int32_t StepOf(int32_t input, int32_t stage) const {
    return input * static_cast<int32_t>(stages_.size()) + stage;
  }

  void AddStep(int32_t input, size_t index) {
    const auto stage = static_cast<int32_t>(index);
    SimulatedStep step;
    step.unit = stages_[index].unit;
    step.compute = std::max<Picoseconds>(stages_[index].time, 1);
    if (input > 0) step.waits.push_back(StepOf(input - 1, stage));
    for (const PipelineChannel& channel : channels_) {
      if (channel.from < stage && stage <= channel.to) {
        step.waits.push_back(StepOf(input, channel.from));
      }
      if (channel.from != stage || input < channel.depth) continue;
      for (int32_t reader = channel.from + 1; reader <= channel.to; ++reader) {
        step.waits.push_back(StepOf(input - channel.depth, reader));
      }
    }
    program_.steps.push_back(std::move(step));
  }

  const std::vector<PipelineStage>& stages_;
  const std::vector<PipelineChannel>& channels_;
  SimulatedProgram program_;
};

}  // namespace

PipelineRun SimulatePipeline(const std::vector<PipelineStage>& stages,
                             const std::vector<PipelineChannel>& channels, int32_t inputs) {
  PipelineRun run;
  if (stages.empty() || inputs < 1) return run;
  const auto simulation = Simulate(Unroller(stages, channels).Run(inputs));
  if (!simulation.ok()) return run;  // never: channels only lead to later stages
  // Stages without successors end independently; an input is done when all stages are.
  std::vector<Picoseconds> done;
  for (size_t first = 0; first < simulation->end.size(); first += stages.size()) {
    const auto begin = simulation->end.begin() + static_cast<std::ptrdiff_t>(first);
    done.push_back(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(stages.size())));
  }
  const int32_t first = inputs / 4;          // what comes before fills the pipeline
  const int32_t last = inputs - inputs / 4;  // what comes after empties it
  const Picoseconds begin = first > 0
                                ? done[static_cast<size_t>(first) - 1]
                                : *std::min_element(simulation->end.begin(), simulation->end.end());
  run.period = (done[static_cast<size_t>(last) - 1] - begin) / (last - first);
  run.first_done = done.front();
  run.makespan = simulation->makespan;
  return run;
}

Picoseconds PeriodBound(const std::vector<PipelineStage>& stages) {
  Picoseconds bound = 0;
  for (const PipelineStage& stage : stages) {
    Picoseconds busy = 0;
    for (const PipelineStage& other : stages) busy += other.unit == stage.unit ? other.time : 0;
    bound = std::max(bound, busy);
  }
  return bound;
}

void ChooseDepths(const std::vector<PipelineStage>& stages, int32_t most,
                  std::vector<PipelineChannel>& channels) {
  const auto takes_turns = [&](int32_t stage) {
    const int32_t unit = stages[static_cast<size_t>(stage)].unit;
    return std::count_if(stages.begin(), stages.end(),
                         [&](const PipelineStage& other) { return other.unit == unit; }) > 1;
  };
  for (PipelineChannel& channel : channels) {
    const bool turns = takes_turns(channel.from) || takes_turns(channel.to);
    channel.depth = std::min(most, channel.to - channel.from + 1 + (turns ? 1 : 0));
  }
  const auto period = [&] { return SimulatePipeline(stages, channels, kInputsToLookAt).period; };
  const Picoseconds bound = PeriodBound(stages);
  Picoseconds reached = period();
  while (reached > bound + bound / 50) {
    const Picoseconds worth = reached - reached / 200;  // below, one more buffer is worth it
    PipelineChannel* deeper = nullptr;
    for (PipelineChannel& channel : channels) {
      if (channel.depth == most) continue;
      ++channel.depth;
      const Picoseconds tried = period();
      --channel.depth;
      if (tried >= std::min(reached, worth)) continue;
      reached = tried;
      deeper = &channel;
    }
    if (deeper != nullptr) {
      ++deeper->depth;
      continue;
    }
    // No single channel delays the others.
    std::vector<PipelineChannel> before = channels;
    for (PipelineChannel& channel : channels) channel.depth = std::min(most, channel.depth + 1);
    const Picoseconds tried = period();
    if (tried >= worth) {
      channels = std::move(before);
      return;
    }
    reached = tried;
  }
}

}  // namespace tenon::converter
