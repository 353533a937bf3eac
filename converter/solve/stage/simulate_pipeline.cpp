#include "converter/solve/stage/simulate_pipeline.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int32_t kInputsToLookAt = 96;

std::vector<StageStep> StepsOf(const PipelineStage& stage) {
  return stage.steps.empty() ? std::vector<StageStep>{{stage.time, stage.unit, {}}} : stage.steps;
}

/// Unrolls the stages over the inputs: the steps of all stages of input 0, then those of input 1.
/// Waits are those of the plan's channels: for the stages that write what a stage reads, and for
/// those that read what it wrote `depth` inputs before.
class Unroller {
 public:
  Unroller(const std::vector<PipelineStage>& stages, const std::vector<PipelineChannel>& channels)
      : channels_(channels) {
    int32_t units = 0;
    for (const PipelineStage& stage : stages) {
      first_.push_back(steps_per_input_);
      steps_.push_back(StepsOf(stage));
      last_.push_back(LastSteps(steps_.back()));
      steps_per_input_ += static_cast<int32_t>(steps_.back().size());
      for (const StageStep& step : steps_.back()) units = std::max(units, step.unit + 1);
    }
    program_.units.resize(static_cast<size_t>(units), "unit");
    program_.takes_ready.assign(static_cast<size_t>(units), true);
  }

  SimulatedProgram Run(int32_t inputs) {
    for (int32_t input = 0; input < inputs; ++input) {
      for (size_t stage = 0; stage < steps_.size(); ++stage) AddStage(input, stage);
    }
    return std::move(program_);
  }

 private:
  /// Those that no other step of the stage waits for.
  static std::vector<int32_t> LastSteps(const std::vector<StageStep>& steps) {
    std::vector<bool> is_awaited(steps.size(), false);
    for (const StageStep& step : steps) {
      for (const int32_t wait : step.waits) is_awaited[static_cast<size_t>(wait)] = true;
    }
    std::vector<int32_t> last;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!is_awaited[i]) last.push_back(static_cast<int32_t>(i));
    }
    return last;
  }

  void AddStage(int32_t input, size_t stage) {
    const int32_t begin = input * steps_per_input_ + first_[stage];
    const std::vector<int32_t> before = WaitsOf(input, static_cast<int32_t>(stage));
    for (const StageStep& from : steps_[stage]) {
      SimulatedStep step;
      step.unit = from.unit;
      step.compute = std::max<Picoseconds>(from.time, 1);
      for (const int32_t wait : from.waits) step.waits.push_back(begin + wait);
      if (from.waits.empty()) step.waits = before;
      program_.steps.push_back(std::move(step));
    }
  }

  [[nodiscard]] std::vector<int32_t> WaitsOf(int32_t input, int32_t stage) const {
    std::vector<int32_t> waits;
    const auto add = [&](int32_t of_input, int32_t of_stage) {
      const auto other = static_cast<size_t>(of_stage);
      for (const int32_t step : last_[other]) {
        waits.push_back(of_input * steps_per_input_ + first_[other] + step);
      }
    };
    if (input > 0) add(input - 1, stage);
    for (const PipelineChannel& channel : channels_) {
      if (channel.from < stage && stage <= channel.to) add(input, channel.from);
      if (channel.from != stage || input < channel.depth) continue;
      for (int32_t reader = channel.from + 1; reader <= channel.to; ++reader) {
        add(input - channel.depth, reader);
      }
    }
    return waits;
  }

  const std::vector<PipelineChannel>& channels_;
  std::vector<std::vector<StageStep>> steps_;  ///< by stage
  std::vector<std::vector<int32_t>> last_;     ///< by stage
  std::vector<int32_t> first_;                 ///< by stage: its first step of input 0
  int32_t steps_per_input_ = 0;
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
  const auto each = static_cast<std::ptrdiff_t>(simulation->end.size()) / inputs;
  for (auto begin = simulation->end.begin(); begin != simulation->end.end(); begin += each) {
    done.push_back(*std::max_element(begin, begin + each));
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
  std::map<int32_t, Picoseconds> busy;  // by unit
  for (const PipelineStage& stage : stages) {
    bound = std::max(bound, stage.time);
    for (const StageStep& step : StepsOf(stage)) {
      bound = std::max(bound, busy[step.unit] += step.time);
    }
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
