#include "converter/solve/stage/simulate_pipeline.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int32_t kInputsToLookAt = 96;

class PipelineSimulator {
 public:
  PipelineSimulator(const std::vector<PipelineStage>& stages,
                    const std::vector<PipelineChannel>& channels, int32_t inputs)
      : stages_(stages),
        channels_(channels),
        inputs_(inputs),
        started_(stages.size(), 0),
        done_(stages.size(), 0),
        ends_(stages.size(), kIdle) {
    for (const PipelineStage& stage : stages) {
      units_ = std::max(units_, static_cast<size_t>(stage.unit) + 1);
    }
  }

  PipelineRun Run() {
    PipelineRun run;
    if (stages_.empty() || inputs_ < 1) return run;
    const int32_t first = inputs_ / 4;           // what comes before fills the pipeline
    const int32_t last = inputs_ - inputs_ / 4;  // what comes after empties it
    Picoseconds now = 0;
    Picoseconds begin = 0;
    Picoseconds end = 0;
    for (;;) {
      StartAll(now);
      Picoseconds next = kIdle;
      for (const Picoseconds one : ends_) {
        if (one != kIdle && (next == kIdle || one < next)) next = one;
      }
      if (next == kIdle) break;
      now = next;
      for (size_t s = 0; s < stages_.size(); ++s) {
        if (ends_[s] != now) continue;
        ends_[s] = kIdle;
        ++done_[s];
      }
      // Stages without successors end independently; an input is done when all stages are.
      const int32_t all = *std::min_element(done_.begin(), done_.end());
      if (all >= 1 && run.first_done == 0) run.first_done = now;
      if (all >= first && begin == 0) begin = now;
      if (all >= last && end == 0) end = now;
      run.makespan = now;
    }
    run.period = (end - begin) / (last - first);
    return run;
  }

 private:
  /// Starts on every idle unit the ready stage with the oldest input.
  void StartAll(Picoseconds now) {
    for (size_t unit = 0; unit < units_; ++unit) {
      size_t best = stages_.size();
      bool busy = false;
      for (size_t s = 0; s < stages_.size(); ++s) {
        if (static_cast<size_t>(stages_[s].unit) != unit) continue;
        busy |= ends_[s] != kIdle;
        if (IsReady(s) && (best == stages_.size() || started_[s] < started_[best])) best = s;
      }
      if (busy || best == stages_.size()) continue;
      ends_[best] = now + std::max<Picoseconds>(stages_[best].time, 1);
      ++started_[best];
    }
  }

  [[nodiscard]] bool IsReady(size_t stage) const {
    const int32_t input = started_[stage];
    if (input >= inputs_ || ends_[stage] != kIdle) return false;
    const auto at = static_cast<int32_t>(stage);
    return std::all_of(channels_.begin(), channels_.end(), [&](const PipelineChannel& channel) {
      if (channel.from < at && at <= channel.to) {
        return done_[static_cast<size_t>(channel.from)] > input;
      }
      if (channel.from != at) return true;
      const auto first = done_.begin() + channel.from + 1;
      return *std::min_element(first, done_.begin() + channel.to + 1) + channel.depth > input;
    });
  }

  static constexpr Picoseconds kIdle = -1;
  const std::vector<PipelineStage>& stages_;
  const std::vector<PipelineChannel>& channels_;
  int32_t inputs_;
  size_t units_ = 0;
  std::vector<int32_t> started_, done_;  ///< inputs, by stage
  std::vector<Picoseconds> ends_;        ///< by stage: of its current input, or kIdle
};

}  // namespace

PipelineRun SimulatePipeline(const std::vector<PipelineStage>& stages,
                             const std::vector<PipelineChannel>& channels, int32_t inputs) {
  return PipelineSimulator(stages, channels, inputs).Run();
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
