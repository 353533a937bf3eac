#include "converter/solve/order/beam_search.hpp"

#include <algorithm>

#include "converter/solve/order/downset_table.hpp"
#include "converter/solve/order/memory_state.hpp"

namespace tenon::converter {
namespace {

class Beam {
 public:
  Beam(const MemoryProblem& problem, const BeamOptions& options)
      : options_(options),
        count_(problem.nodes.size()),
        state_(problem),
        table_(state_.words()),
        levels_(count_ + 1) {}

  std::optional<std::vector<Index>> Run(SearchEffort& effort) {
    std::vector<Index> moves;
    const int64_t end =
        options_.work < INT64_MAX - effort.work ? effort.work + options_.work : INT64_MAX;
    state_.ApplyForced(options_.target, moves);
    Add(kNoParent, moves);
    for (size_t level = 0; level < count_; ++level) {
      KeepBest(levels_[level]);
      for (const uint32_t number : levels_[level]) {
        if (effort.work >= end) return std::nullopt;
        const int64_t visits = state_.visits();
        const size_t known = records_.size();
        Expand(number);
        ++effort.downsets;
        effort.work +=
            ExpansionWork(state_.visits() - visits, records_.size() - known, state_.words());
        if (!levels_[count_].empty()) return OrderOf(levels_[count_].front());
      }
      levels_[level] = {};
      if (options_.report) options_.report(effort.work);
    }
    if (levels_[count_].empty()) return std::nullopt;
    return OrderOf(levels_[count_].front());
  }

 private:
  static constexpr uint32_t kNoParent = UINT32_MAX;
  struct Record {
    double score = 0.0;  ///< the smaller the better
    uint32_t parent = kNoParent;
    uint32_t moves = 0;
    uint32_t move_count = 0;
  };

  void Expand(uint32_t number) {
    state_.Load(table_[number]);
    state_.GetReady(ready_);
    for (const Index v : ready_) {
      if (state_.CostOf(v).during > options_.target) continue;
      step_.clear();
      state_.ApplyForcedAfter(v, options_.target, step_);
      Add(number, step_);
      while (!step_.empty()) {
        state_.Undo(step_.back());
        step_.pop_back();
      }
    }
  }

  void Add(uint32_t parent, const std::vector<Index>& moves) {
    const uint64_t* done = state_.done().data();
    const auto [number, is_new] = table_.Insert(done);
    if (!is_new) return;
    constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
    const uint64_t mixed = (table_.HashOf(done) ^ options_.seed) * 0x94D049BB133111EBU;
    const double chance = static_cast<double>(mixed >> 11) * kUnit;
    const double score = static_cast<double>(state_.live()) * (1.0 + options_.noise * chance);
    records_.push_back(
        {score, parent, static_cast<uint32_t>(moves_.size()), static_cast<uint32_t>(moves.size())});
    moves_.insert(moves_.end(), moves.begin(), moves.end());
    levels_[state_.done_count()].push_back(number);
  }

  void KeepBest(std::vector<uint32_t>& level) const {
    const auto better = [&](uint32_t a, uint32_t b) {
      const double difference = records_[a].score - records_[b].score;
      return difference != 0.0 ? difference < 0.0 : a < b;
    };
    const size_t kept = std::min(options_.width, level.size());
    std::partial_sort(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(kept), level.end(),
                      better);
    level.resize(kept);
  }

  [[nodiscard]] std::vector<Index> OrderOf(uint32_t number) const {
    std::vector<Index> backwards;
    for (uint32_t at = number; at != kNoParent; at = records_[at].parent) {
      const Record& record = records_[at];
      for (uint32_t k = record.move_count; k-- > 0;) backwards.push_back(moves_[record.moves + k]);
    }
    std::reverse(backwards.begin(), backwards.end());
    return backwards;
  }

  const BeamOptions& options_;
  size_t count_;
  MemoryState state_;
  DownsetTable table_;
  std::vector<Record> records_;
  std::vector<Index> moves_;
  std::vector<std::vector<uint32_t>> levels_;  ///< by number of nodes done

  std::vector<Index> ready_;  // scratch
  std::vector<Index> step_;
};

}  // namespace

std::optional<std::vector<Index>> BeamSearch(const MemoryProblem& problem,
                                             const BeamOptions& options, SearchEffort& effort) {
  return Beam(problem, options).Run(effort);
}

}  // namespace tenon::converter
