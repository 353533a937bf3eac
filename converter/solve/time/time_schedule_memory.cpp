// Implements the memory side of TimeEvaluator: what lies in fast memory, is fetched or moved out.
#include <algorithm>

#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

int32_t TimeEvaluator::HoldOf(Index v) const {
  const Index storage = problem_.values[v].storage;
  return slow_[storage] ? value_hold_[v] : storage_hold_[storage];
}

int32_t TimeEvaluator::NewHold(HoldKind kind, Index owner, int64_t bytes) {
  const auto number = static_cast<int32_t>(holds_.size());
  Hold hold;
  hold.fast.kind = kind;
  hold.fast.owner = owner;
  hold.fast.bytes = bytes;
  hold.resident_at = static_cast<int32_t>(residents_.size());
  residents_.push_back(number);
  holds_.push_back(hold);
  return number;
}

/// Takes bytes for something that is written from `ready` on; `ready` grows if they are only free
/// later. Returns -1 if there are none.
int32_t TimeEvaluator::AllocateAt(HoldKind kind, Index owner, int64_t bytes, Picoseconds& ready) {
  if (!MakeRoom(bytes)) return -1;
  MakeRoomBy(ready, bytes);
  const int32_t number = NewHold(kind, owner, bytes);
  Hold& hold = holds_[static_cast<size_t>(number)];
  hold.available = TakeBytes(number, ready);
  hold.fast.start = ready = std::max(ready, hold.available);
  hold.pinned_by = position_;
  return number;
}

/// Removes a hold from those that live.
void TimeEvaluator::Forget(int32_t number) {
  Hold& hold = holds_[static_cast<size_t>(number)];
  const int32_t last = residents_.back();
  residents_[static_cast<size_t>(hold.resident_at)] = last;
  holds_[static_cast<size_t>(last)].resident_at = hold.resident_at;
  residents_.pop_back();
  hold.resident_at = -1;
}

void TimeEvaluator::Release(int32_t number) {
  Hold& hold = holds_[static_cast<size_t>(number)];
  hold.fast.end = hold.busy;
  if (!problem_.with_addresses) {
    free_.Add(hold.busy, hold.fast.bytes);
  } else if (hold.fast.bytes > 0) {
    memory_.Release(hold.fast.offset, hold.busy);
  }
  Forget(number);
}

/// Fetches a value from slow memory as early as there is space and the engine has time; returns -1
/// if there is no space. `needed`: when the task that reads it could begin.
int32_t TimeEvaluator::Fetch(Index v, Picoseconds needed) {
  const TimeValue& value = problem_.values[v];
  Picoseconds ready = stored_at_[v];
  if (ready == kNever) {
    ready = 0;
    for (const Index part : value.parts) {
      if (stored_at_[part] == kNever) Store(part);
      ready = std::max(ready, stored_at_[part]);
    }
  }
  if (!MakeRoom(value.bytes)) return -1;
  MakeRoomBy(std::max(ready, needed - value.fetch_time), value.bytes);
  const Picoseconds start =
      transfers_.FirstFit(std::max(ready, TimeForBytes(value.bytes)), value.fetch_time);
  const int32_t number = NewHold(HoldKind::kFetched, v, value.bytes);
  Hold& hold = holds_[static_cast<size_t>(number)];
  hold.available = TakeBytes(number, start);
  transfers_.Reserve(start, value.fetch_time);
  hold.fast.start = start;
  hold.ready = hold.busy = start + value.fetch_time;
  hold.pinned_by = position_;
  value_hold_[v] = number;
  transfer_time_ += value.fetch_time;
  if (record_ != nullptr) {
    record_->events.push_back({TimeEventKind::kFetch, v, start, hold.ready, number});
  }
  return number;
}

/// Copies a value, which is in fast memory, to slow memory as soon as the engine has time.
void TimeEvaluator::Store(Index v) {
  if (stored_at_[v] != kNever) return;
  const TimeValue& value = problem_.values[v];
  const int32_t number = HoldOf(v);
  Hold& hold = holds_[static_cast<size_t>(number)];
  const Picoseconds start = transfers_.FirstFit(hold.ready, value.store_time);
  transfers_.Reserve(start, value.store_time);
  stored_at_[v] = start + value.store_time;
  hold.busy = std::max(hold.busy, stored_at_[v]);
  makespan_ = std::max(makespan_, stored_at_[v]);
  transfer_time_ += value.store_time;
  if (record_ != nullptr) {
    record_->events.push_back({TimeEventKind::kStore, v, start, stored_at_[v], number});
  }
}

Picoseconds TimeEvaluator::TakeBytes(int32_t number, Picoseconds at) {
  FastHold& fast = holds_[static_cast<size_t>(number)].fast;
  if (!problem_.with_addresses) return free_.Take(fast.bytes, at);
  // Fetched values are short-lived; the rest lies at the other end.
  const auto side =
      fast.kind == HoldKind::kFetched ? FastMemory::Side::kHigh : FastMemory::Side::kLow;
  const FastMemory::Window window = memory_.Take(fast.bytes, at, side, number);
  fast.offset = window.begin;
  return window.free_from;
}

Picoseconds TimeEvaluator::TimeForBytes(int64_t bytes) const {
  return problem_.with_addresses ? memory_.TimeFor(bytes) : free_.TimeFor(bytes);
}

bool TimeEvaluator::MakeRoom(int64_t bytes) {
  if (problem_.with_addresses) return memory_.HasPlace(bytes) || EvictRun(bytes);
  while (free_.total() < bytes) {
    if (!EvictOne()) return false;
  }
  return true;
}

/// Gives up what is idle for long if so many bytes are free by then because of it.
void TimeEvaluator::MakeRoomBy(Picoseconds by, int64_t bytes) {
  if (problem_.idle_tasks == 0 || bytes == 0 || TimeForBytes(bytes) <= by) return;
  BuildUses();
  if (problem_.with_addresses) {
    EvictRun(bytes, by);
  } else {
    EvictIdle(bytes, by);
  }
}

/// Uses that nothing will be taken before the transfer engine or a unit has time.
void TimeEvaluator::Simplify() {
  constexpr size_t kManyPieces = 64;
  const size_t pieces = problem_.with_addresses ? memory_.pieces().size() : free_.pieces();
  if (pieces <= kManyPieces) return;
  const Picoseconds time =
      std::min(transfers_.first_idle(), *std::min_element(unit_free_.begin(), unit_free_.end()));
  if (problem_.with_addresses) {
    memory_.Simplify(time);
  } else {
    free_.Forget(time);
  }
}

void TimeEvaluator::BuildUses() {
  if (uses_built_) return;
  uses_built_ = true;
  use_ends_.assign(problem_.values.size(), 0);
  Index sum = 0;
  for (size_t v = 0; v < use_ends_.size(); ++v) {
    use_ends_[v] = sum;
    sum += reads_of_value_[v];
  }
  use_positions_.resize(sum);
  for (Index position = 0; position < order_->size(); ++position) {
    for (const Index v : problem_.tasks[(*order_)[position]].reads) {
      use_positions_[use_ends_[v]++] = position;
    }
  }
}

Index TimeEvaluator::NextRead(Index v) const {
  return reads_left_[v] == 0 ? kNobody : use_positions_[use_ends_[v] - reads_left_[v]];
}

Index TimeEvaluator::NextUse(const FastHold& hold) const {
  if (hold.kind != HoldKind::kStorage) return NextRead(hold.owner);
  Index next = kNobody;
  for (const Index v : values_of_storage_[hold.owner]) next = std::min(next, NextRead(v));
  return next;
}

bool TimeEvaluator::NeedsStore(const FastHold& hold) const {
  if (hold.kind == HoldKind::kStorage) return true;
  return hold.kind == HoldKind::kWritten && stored_at_[hold.owner] == kNever;
}

bool TimeEvaluator::MayEvict(const Hold& hold) const {
  if (hold.pinned_by == position_ || hold.fast.kind == HoldKind::kTransient) return false;
  if (NeedsStore(hold.fast) && !problem_.may_move_out) return false;
  if (hold.fast.kind != HoldKind::kStorage) return true;
  return writes_left_[hold.fast.owner] == 0 && !problem_.storages[hold.fast.owner].to_end;
}

/// Returns how suitable a hold is for eviction: how far away its next use is; values that are
/// already in slow memory count as twice as far.
int64_t TimeEvaluator::EvictionScore(const FastHold& hold) const {
  const int64_t distance = static_cast<int64_t>(NextUse(hold)) - position_;
  return distance * (NeedsStore(hold) ? 1 : 2);
}

/// Evicts what is needed last (Belady 1966).
bool TimeEvaluator::EvictOne() {
  BuildUses();
  int32_t victim = -1;
  int64_t victim_score = -1;
  for (const int32_t number : residents_) {
    const Hold& hold = holds_[static_cast<size_t>(number)];
    if (!MayEvict(hold)) continue;
    const int64_t score = EvictionScore(hold.fast);
    if (score > victim_score || (score == victim_score && number < victim)) {
      victim = number;
      victim_score = score;
    }
  }
  if (victim < 0) return false;
  Evict(victim);
  return true;
}

/// Returns true if nothing reads it for long, and its bytes can be free by then.
bool TimeEvaluator::IsIdle(const Hold& hold, Picoseconds by) const {
  const Index next = NextUse(hold.fast);
  if (next != kNobody && next - position_ < problem_.idle_tasks) return false;
  if (!NeedsStore(hold.fast)) return hold.busy <= by;
  const Index v = hold.fast.kind == HoldKind::kStorage ? values_of_storage_[hold.fast.owner].front()
                                                       : hold.fast.owner;
  const Picoseconds length = problem_.values[v].store_time;
  return std::max(hold.busy, transfers_.FirstFit(hold.ready, length) + length) <= by;
}

/// Evicts what is needed last of what is idle, if that is enough.
void TimeEvaluator::EvictIdle(int64_t bytes, Picoseconds by) {
  std::vector<std::pair<int64_t, int32_t>> victims;
  int64_t freed = free_.FreeBy(by);
  for (const int32_t number : residents_) {
    const Hold& hold = holds_[static_cast<size_t>(number)];
    if (!MayEvict(hold) || !IsIdle(hold, by)) continue;
    victims.emplace_back(-EvictionScore(hold.fast), number);
    freed += hold.fast.bytes;
  }
  if (freed < bytes) return;
  std::sort(victims.begin(), victims.end());
  for (const auto& [score, number] : victims) {
    if (TimeForBytes(bytes) <= by) return;
    Evict(number);
  }
}

/// Evicts neighbours to free so many bytes in one piece: those that cost least to fetch again soon.
/// With a time only what is idle, next to what is free by then.
bool TimeEvaluator::EvictRun(int64_t bytes, Picoseconds by) {
  BuildUses();
  const std::vector<FastMemory::Piece>& pieces = memory_.pieces();
  double best_cost = 0;
  size_t best_first = pieces.size();
  size_t best_last = 0;
  for (size_t first = 0; first < pieces.size(); ++first) {
    double cost = 0;
    for (size_t last = first; last < pieces.size(); ++last) {
      if (pieces[last].hold >= 0) {
        const Hold& hold = holds_[static_cast<size_t>(pieces[last].hold)];
        if (!MayEvict(hold) || (by != kNever && !IsIdle(hold, by))) break;
        cost += static_cast<double>(hold.fast.bytes) /
                static_cast<double>(std::max<int64_t>(EvictionScore(hold.fast), 1));
      } else if (pieces[last].free_from > by) {
        break;
      }
      if (best_first < pieces.size() && cost >= best_cost) break;
      if (pieces[last].end - pieces[first].begin < bytes) continue;
      best_cost = cost;
      best_first = first;
      best_last = last;
      break;
    }
  }
  if (best_first == pieces.size()) return false;
  std::vector<int32_t> victims;
  for (size_t i = best_first; i <= best_last; ++i) {
    if (pieces[i].hold >= 0) victims.push_back(pieces[i].hold);
  }
  for (const int32_t victim : victims) Evict(victim);
  return true;
}

void TimeEvaluator::Evict(int32_t victim) {
  const FastHold fast = holds_[static_cast<size_t>(victim)].fast;
  if (fast.kind == HoldKind::kStorage) {
    for (const Index v : values_of_storage_[fast.owner]) {
      if (reads_left_[v] > 0) Store(v);
    }
    slow_[fast.owner] = true;
    storage_hold_[fast.owner] = -1;
  } else {
    if (NeedsStore(fast)) Store(fast.owner);
    value_hold_[fast.owner] = -1;
  }
  Release(victim);
}

/// Evicts everything that can be fetched again, including what the current task has begun to
/// collect. Returns false where that is useless.
bool TimeEvaluator::MoveAllOut() {
  if (!problem_.with_addresses) return false;
  for (const int32_t made : fresh_) {
    if (holds_[static_cast<size_t>(made)].fast.taken_over >= 0) return false;
  }
  for (const auto* list : {&fresh_, &transient_}) {
    for (const int32_t made : *list) {
      const Hold& hold = holds_[static_cast<size_t>(made)];
      if (hold.fast.kind == HoldKind::kStorage) storage_hold_[hold.fast.owner] = -1;
      if (hold.fast.kind == HoldKind::kWritten) value_hold_[hold.fast.owner] = -1;
      holds_[static_cast<size_t>(made)].busy = hold.fast.start;
      Release(made);
    }
  }
  fresh_.clear();
  transient_.clear();
  BuildUses();
  for (const int32_t number : std::vector<int32_t>(residents_)) {
    Hold& hold = holds_[static_cast<size_t>(number)];
    hold.pinned_by = kNobody;
    if (MayEvict(hold)) Evict(number);
  }
  return true;
}

}  // namespace tenon::converter
