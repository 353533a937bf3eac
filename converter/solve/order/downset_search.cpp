#include "converter/solve/order/downset_search.hpp"

#include <algorithm>

namespace tenon::converter {

DownsetSearch::DownsetSearch(const MemoryProblem& problem, int64_t bound, int64_t upper)
    : state_(problem), table_(state_.words()), level_(bound), upper_(upper) {
  table_.Insert(state_.done().data());
  records_.emplace_back();
  if (level_ < upper_) waiting_[level_].push_back(0);
  if (state_.IsComplete()) complete_ = 0;
}

DownsetSearch::Outcome DownsetSearch::Run(int64_t work) {
  const int64_t end = work < INT64_MAX - effort_.work ? effort_.work + work : INT64_MAX;
  while (complete_ == kNoParent) {
    while (!waiting_.empty() && waiting_.begin()->second.empty()) {
      waiting_.erase(waiting_.begin());
    }
    if (waiting_.empty()) {
      level_ = upper_;
      return Outcome::kNoneBelow;
    }
    level_ = waiting_.begin()->first;
    if (effort_.work >= end) return Outcome::kOutOfWork;
    std::vector<uint32_t>& waiting = waiting_.begin()->second;
    const uint32_t number = waiting.back();
    waiting.pop_back();
    const int64_t visits = state_.visits();
    const size_t known = records_.size();
    Expand(number);
    ++effort_.downsets;
    effort_.work +=
        ExpansionWork(state_.visits() - visits, records_.size() - known, state_.words());
  }
  return Outcome::kFound;
}

void DownsetSearch::Expand(uint32_t number) {
  const int64_t seen_up_to = records_[number].expanded;
  records_[number].expanded = level_;
  state_.Load(table_[number]);
  successors_.clear();
  step_.clear();
  state_.ApplyForced(level_, step_);
  if (!step_.empty()) {
    AddSuccessor(number, step_);  // the only one that matters, at this level and above
    for (const Successor& successor : successors_) waiting_[level_].push_back(successor.number);
    return;
  }
  int64_t next_level = upper_;
  state_.GetReady(ready_);
  for (const Index v : ready_) {
    const int64_t during = state_.CostOf(v).during;
    if (during > level_) next_level = std::min(next_level, during);
    if (during > level_ || during <= seen_up_to) continue;
    step_.clear();
    state_.ApplyForcedAfter(v, level_, step_);
    AddSuccessor(number, step_);
    if (complete_ != kNoParent) return;
    while (!step_.empty()) {
      state_.Undo(step_.back());
      step_.pop_back();
    }
  }
  if (next_level < upper_) waiting_[next_level].push_back(number);
  // Those that leave the least alive are taken first, so they are pushed last.
  std::stable_sort(successors_.begin(), successors_.end(),
                   [](const Successor& a, const Successor& b) { return a.live > b.live; });
  for (const Successor& successor : successors_) waiting_[level_].push_back(successor.number);
}

void DownsetSearch::AddSuccessor(uint32_t parent, const std::vector<Index>& moves) {
  const auto [number, is_new] = table_.Insert(state_.done().data());
  if (!is_new) return;  // reached before at this level or a lower one
  Record& record = records_.emplace_back();
  record.parent = parent;
  record.moves = static_cast<uint32_t>(moves_.size());
  record.move_count = static_cast<uint32_t>(moves.size());
  moves_.insert(moves_.end(), moves.begin(), moves.end());
  if (state_.IsComplete()) {
    complete_ = number;
    return;
  }
  successors_.push_back({state_.live(), number});
}

std::vector<Index> DownsetSearch::order() const {
  std::vector<Index> backwards;
  for (uint32_t at = complete_; records_[at].parent != kNoParent; at = records_[at].parent) {
    const Record& record = records_[at];
    for (uint32_t k = record.move_count; k-- > 0;) backwards.push_back(moves_[record.moves + k]);
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

int64_t DownsetSearch::lower_bound() const { return level_; }

}  // namespace tenon::converter
