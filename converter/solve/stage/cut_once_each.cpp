#include "converter/solve/stage/cut_once_each.hpp"

#include <algorithm>
#include <limits>

namespace tenon::converter {
namespace {

constexpr Picoseconds kNotPossible = std::numeric_limits<Picoseconds>::max();

class OnceEachCutter {
 public:
  OnceEachCutter(const std::vector<StageUnit>& units, const StageTimes& times, int32_t most_stages)
      : times_(times), most_stages_(most_stages), last_(times.points - 1) {
    FindKinds(units);
  }

  std::vector<std::vector<OnceEachStage>> Run() {
    constexpr size_t kMostSteps = 60'000'000;
    if (states_ * kinds_.size() > kMostSteps / (times_.points * times_.points)) return {};
    best_.assign(states_ * times_.points, {});
    best_[0].period = 0;
    for (size_t state = 0; state < states_; ++state) {
      if (StagesOf(state) >= most_stages_) continue;
      for (size_t kind = 0; kind < kinds_.size(); ++kind) AddStage(state, kind);
    }
    std::vector<std::vector<OnceEachStage>> cuts(static_cast<size_t>(most_stages_) + 1);
    std::vector<Picoseconds> periods(cuts.size(), kNotPossible);
    for (size_t state = 0; state < states_; ++state) {
      const Picoseconds period = At(state, last_).period;
      const auto stages = static_cast<size_t>(StagesOf(state));
      if (stages >= cuts.size() || period >= periods[stages]) continue;
      periods[stages] = period;
      cuts[stages] = Trace(state);
    }
    return cuts;
  }

 private:
  /// Units that are equal, and by what a state grows if one more of them is used.
  struct Kind {
    std::vector<size_t> units;
    size_t step = 1;
  };
  /// The best way to a cut point with the units of a state.
  struct Way {
    Picoseconds period = kNotPossible;
    uint32_t kind = 0;  ///< of the last stage's unit
    uint32_t begin = 0;
  };

  void FindKinds(const std::vector<StageUnit>& units) {
    std::vector<size_t> kind_of(units.size());
    for (size_t u = 0; u < units.size(); ++u) {
      kind_of[u] =
          units[u].same_as >= 0 ? kind_of[static_cast<size_t>(units[u].same_as)] : kinds_.size();
      if (kind_of[u] == kinds_.size()) kinds_.emplace_back();
      kinds_[kind_of[u]].units.push_back(u);
    }
    for (Kind& kind : kinds_) {
      kind.step = states_;
      states_ *= kind.units.size() + 1;
    }
  }

  [[nodiscard]] size_t UsedOf(size_t state, const Kind& kind) const {
    return state / kind.step % (kind.units.size() + 1);
  }
  [[nodiscard]] int32_t StagesOf(size_t state) const {
    size_t stages = 0;
    for (const Kind& kind : kinds_) stages += UsedOf(state, kind);
    return static_cast<int32_t>(stages);
  }
  Way& At(size_t state, size_t point) { return best_[state * times_.points + point]; }

  void AddStage(size_t state, size_t k) {
    const Kind& kind = kinds_[k];
    const size_t used = UsedOf(state, kind);
    if (used == kind.units.size()) return;
    const size_t unit = kind.units[used];
    for (size_t begin = 0; begin < last_; ++begin) {
      const Picoseconds before = At(state, begin).period;
      if (before == kNotPossible) continue;
      for (size_t end = begin + 1; end <= last_ && times_.runs(begin, end, unit); ++end) {
        const Picoseconds run = times_.read_and_run(begin, end, unit);
        // Whatever ends here or later takes no less than the best whole cut.
        if (run >= At(state + kind.step, last_).period) break;
        const Picoseconds period = std::max(before, run + times_.write(begin, end, unit));
        Way& way = At(state + kind.step, end);
        if (period >= way.period) continue;
        way = {period, static_cast<uint32_t>(k), static_cast<uint32_t>(begin)};
      }
    }
  }

  std::vector<OnceEachStage> Trace(size_t state) {
    std::vector<OnceEachStage> stages;
    for (size_t point = last_; point > 0;) {
      const Way& way = At(state, point);
      const Kind& kind = kinds_[way.kind];
      stages.push_back({kind.units[UsedOf(state, kind) - 1], point});
      state -= kind.step;
      point = way.begin;
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

  const StageTimes& times_;
  int32_t most_stages_;
  size_t last_;
  std::vector<Kind> kinds_;
  size_t states_ = 1;
  std::vector<Way> best_;  ///< by state and point
};

}  // namespace

std::vector<std::vector<OnceEachStage>> CutOnceEach(const std::vector<StageUnit>& units,
                                                    const StageTimes& times, int32_t most_stages) {
  if (times.points < 2 || units.empty()) return {};
  return OnceEachCutter(units, times, most_stages).Run();
}

}  // namespace tenon::converter
