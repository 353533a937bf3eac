#include "converter/memory/place_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <tuple>

#include "converter/memory/place_reach.hpp"

namespace tenon::converter {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
// A clock reading costs about as much as a placement.
constexpr int64_t kWorkPerClockCheck = 64;
// Small states are searched as quickly as they are looked up.
constexpr size_t kSmallestNogood = 3;

// More than any number of choices.
constexpr double kAboveAllScores = 1e9;

int64_t AlignUp(int64_t value, int64_t alignment) {
  if (alignment == 1) return value;
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

PlacementSearch::PlacementSearch(const Instance& instance) : instance_(instance) {
  const size_t n = instance.buffers.size();
  const auto sections = static_cast<size_t>(instance.sections);
  offset_.resize(n);
  max_offset_.resize(n);
  placed_.resize(n);
  rank_.resize(n);
  slots_.resize(n);
  next_same_.assign(n, -1);
  prev_same_.assign(n, -1);
  members_.resize(sections);
  count_.resize(sections);
  unplaced_size_.resize(sections);
  crossing_.resize(sections);
  weight_.assign(sections, 1.0);
  lowest_top_.resize(sections);
  choices_.resize(sections);
  dirty_.resize((sections + 63) / 64);
  first_buffer_.assign(sections + 1, 0);

  std::mt19937_64 random(0x7E404E);
  for (size_t b = 0; b < n; ++b) hash_.push_back(random());

  size_t slots = 0;
  for (size_t b = 0; b < n; ++b) {
    const InstanceBuffer& buffer = instance.buffers[b];
    slots_[b] = slots;
    slots += static_cast<size_t>(buffer.last_section - buffer.first_section + 1);
    for (int s = buffer.first_section; s <= buffer.last_section; ++s) {
      members_[static_cast<size_t>(s)].push_back(static_cast<int>(b));
    }
    ++first_buffer_[static_cast<size_t>(buffer.first_section) + 1];
  }
  position_.resize(slots);
  for (size_t s = 0; s < sections; ++s) first_buffer_[s + 1] += first_buffer_[s];

  // Buffers that could be exchanged are kept in the order of their indices.
  std::vector<int> order;
  for (size_t b = 0; b < n; ++b) {
    if (!instance.buffers[b].fixed) order.push_back(static_cast<int>(b));
  }
  const auto key = [&](int b) {
    const InstanceBuffer& buffer = instance.buffers[static_cast<size_t>(b)];
    return std::tuple(buffer.first_section, buffer.last_section, buffer.size, buffer.bytes,
                      buffer.alignment, b);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    auto a = key(order[i - 1]);
    auto b = key(order[i]);
    std::get<5>(a) = std::get<5>(b) = 0;
    if (a != b) continue;
    next_same_[static_cast<size_t>(order[i - 1])] = order[i];
    prev_same_[static_cast<size_t>(order[i])] = order[i - 1];
  }
}

void PlacementSearch::SetLimit(int64_t limit_bytes) {
  if (limit_bytes > limit_bytes_) nogoods_.Clear();
  limit_bytes_ = limit_bytes;
  capacity_ = 0;
  for (size_t b = 0; b < instance_.buffers.size(); ++b) {
    const InstanceBuffer& buffer = instance_.buffers[b];
    const int64_t room = limit_bytes - buffer.bytes;
    max_offset_[b] = room < 0 ? -1 : room / instance_.unit;
    capacity_ = std::max(capacity_, max_offset_[b] + buffer.size);
    if (buffer.fixed) {
      max_offset_[b] = buffer.min_offset <= max_offset_[b] ? buffer.min_offset : -1;
    }
  }
}

void PlacementSearch::ComputeRanks(const SearchStrategy& strategy) {
  std::mt19937_64 random(strategy.seed);
  for (size_t b = 0; b < rank_.size(); ++b) {
    const InstanceBuffer& buffer = instance_.buffers[b];
    const auto width = static_cast<double>(buffer.last_section - buffer.first_section + 1);
    const auto size = static_cast<double>(buffer.size);
    double key = 0;
    switch (strategy.order) {
      case SearchOrder::kWidth:
        key = width + size / static_cast<double>(capacity_ + 1);
        break;
      case SearchOrder::kArea:
        key = width * size;
        break;
      case SearchOrder::kSize:
        key = size;
        break;
      case SearchOrder::kPressure: {
        int64_t pressure = 0;
        for (int s = buffer.first_section; s <= buffer.last_section; ++s) {
          pressure = std::max(pressure, unplaced_size_[static_cast<size_t>(s)]);
        }
        key = static_cast<double>(pressure) * 1e3 + width + size / static_cast<double>(capacity_);
        break;
      }
    }
    const double uniform = static_cast<double>(random() >> 11) * 0x1.0p-53;
    rank_[b] = -key * (1.0 + strategy.noise * (uniform - 0.5));
  }
}

bool PlacementSearch::StartRun() {
  trail_.clear();
  frames_.clear();
  parts_.clear();
  std::fill(placed_.begin(), placed_.end(), char{0});
  std::fill(dirty_.begin(), dirty_.end(), 0);
  std::fill(crossing_.begin(), crossing_.end(), 0);
  for (size_t s = 0; s < members_.size(); ++s) {
    std::sort(members_[s].begin(), members_[s].end());
    count_[s] = static_cast<int>(members_[s].size());
    unplaced_size_[s] = 0;
    for (size_t i = 0; i < members_[s].size(); ++i) {
      const auto b = static_cast<size_t>(members_[s][i]);
      unplaced_size_[s] += instance_.buffers[b].size;
      if (instance_.buffers[b].last_section > static_cast<int>(s)) ++crossing_[s];
      position_[slots_[b] + s - static_cast<size_t>(instance_.buffers[b].first_section)] =
          static_cast<int>(i);
    }
  }
  for (size_t b = 0; b < offset_.size(); ++b) {
    offset_[b] = instance_.buffers[b].min_offset;
    if (offset_[b] > max_offset_[b]) return false;
  }
  for (size_t b = 0; b < offset_.size(); ++b) {
    MarkDirty(static_cast<int>(b));
    if (prev_same_[b] >= 0) continue;
    int64_t offset = offset_[b];
    for (int same = next_same_[b]; same >= 0; same = next_same_[static_cast<size_t>(same)]) {
      offset = AlignUp(offset + instance_.buffers[b].size, instance_.buffers[b].alignment);
      if (!Raise(same, offset)) return false;
    }
  }
  return Propagate();
}

void PlacementSearch::MarkDirty(int buffer) {
  const InstanceBuffer& entry = instance_.buffers[static_cast<size_t>(buffer)];
  const auto first = static_cast<size_t>(entry.first_section);
  const auto last = static_cast<size_t>(entry.last_section);
  const uint64_t from = ~uint64_t{0} << (first % 64);
  const uint64_t to = ~uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) {
    dirty_[first / 64] |= from & to;
    return;
  }
  dirty_[first / 64] |= from;
  for (size_t word = first / 64 + 1; word < last / 64; ++word) dirty_[word] = ~uint64_t{0};
  dirty_[last / 64] |= to;
}

bool PlacementSearch::Raise(int buffer, int64_t offset) {
  for (; buffer >= 0; buffer = next_same_[static_cast<size_t>(buffer)]) {
    const auto b = static_cast<size_t>(buffer);
    if (offset <= offset_[b]) return true;
    offset = AlignUp(offset, instance_.buffers[b].alignment);
    trail_.push_back({buffer, offset_[b]});
    offset_[b] = offset;
    MarkDirty(buffer);
    if (offset > max_offset_[b]) return false;
    offset += instance_.buffers[b].size;
  }
  return true;
}

bool PlacementSearch::PlaceAtLeastOffset(int buffer) {
  const auto b = static_cast<size_t>(buffer);
  const InstanceBuffer& entry = instance_.buffers[b];
  placed_[b] = 1;
  trail_.push_back({~buffer, 0});
  for (int section = entry.first_section; section <= entry.last_section; ++section) {
    const auto s = static_cast<size_t>(section);
    const size_t slot = slots_[b] + s - static_cast<size_t>(entry.first_section);
    const auto last = static_cast<size_t>(--count_[s]);
    const int moved = members_[s][last];
    const auto m = static_cast<size_t>(moved);
    std::swap(members_[s][static_cast<size_t>(position_[slot])], members_[s][last]);
    position_[slots_[m] + s - static_cast<size_t>(instance_.buffers[m].first_section)] =
        position_[slot];
    position_[slot] = static_cast<int>(last);
    unplaced_size_[s] -= entry.size;
    if (section < entry.last_section) --crossing_[s];
  }
  MarkDirty(buffer);
  const int64_t top = offset_[b] + entry.size;
  const auto first = static_cast<size_t>(entry.first_section);
  for (int i = 0; i < count_[first]; ++i) {
    if (!Raise(members_[first][static_cast<size_t>(i)], top)) return false;
  }
  const int end = first_buffer_[static_cast<size_t>(entry.last_section) + 1];
  for (int other = first_buffer_[first + 1]; other < end; ++other) {
    if (!placed_[static_cast<size_t>(other)] && !Raise(other, top)) return false;
  }
  return true;
}

void PlacementSearch::Undo(size_t trail_size) {
  while (trail_.size() > trail_size) {
    const Change change = trail_.back();
    trail_.pop_back();
    if (change.buffer >= 0) {
      offset_[static_cast<size_t>(change.buffer)] = change.old_offset;
      continue;
    }
    const auto b = static_cast<size_t>(~change.buffer);
    const InstanceBuffer& entry = instance_.buffers[b];
    placed_[b] = 0;
    for (int section = entry.first_section; section <= entry.last_section; ++section) {
      const auto s = static_cast<size_t>(section);
      ++count_[s];  // removals are undone last first: it lies just behind the unplaced ones
      unplaced_size_[s] += entry.size;
      if (section < entry.last_section) ++crossing_[s];
    }
  }
  std::fill(dirty_.begin(), dirty_.end(), 0);
}

bool PlacementSearch::Propagate() {
  for (size_t word = 0; word < dirty_.size();) {
    if (dirty_[word] == 0) {
      ++word;
      continue;
    }
    const int bit = std::countr_zero(dirty_[word]);
    dirty_[word] &= dirty_[word] - 1;
    const int section = static_cast<int>(word * 64) + bit;
    ++work_;
    if (!CheckSection(section)) {
      weight_[static_cast<size_t>(section)] += 1.0;
      return false;
    }
    word = 0;  // a raise marks sections on either side
  }
  return true;
}

bool PlacementSearch::CheckSection(int section) {
  const auto s = static_cast<size_t>(section);
  const auto count = static_cast<size_t>(count_[s]);
  if (count == 0) return true;
  int64_t floor = kLargest;
  int64_t highest = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t offset = offset_[static_cast<size_t>(members_[s][i])];
    floor = std::min(floor, offset);
    highest = std::max(highest, offset);
  }
  const int64_t highest_first = capacity_ - unplaced_size_[s];
  if (floor > highest_first) return false;
  if (highest <= highest_first) return true;  // any of them can be the lowest
  SortByOffset(section);
  int64_t height = 0;
  for (const auto& [offset, b] : sorted_) height = std::max(height, offset) + Size(b);
  return height <= capacity_ && RaiseToReachable(floor, highest_first);
}

void PlacementSearch::SortByOffset(int section) {
  const auto s = static_cast<size_t>(section);
  sorted_.resize(static_cast<size_t>(count_[s]));
  for (size_t i = 0; i < sorted_.size(); ++i) {  // few, so insertion is quickest
    const int b = members_[s][i];
    const int64_t offset = offset_[static_cast<size_t>(b)];
    size_t slot = i;
    for (; slot > 0 && sorted_[slot - 1].first > offset; --slot) sorted_[slot] = sorted_[slot - 1];
    sorted_[slot] = {offset, b};
  }
}

// The gaps in a section may add up to highest_first - floor. A buffer that lies higher than that
// has others of the section below it, which with those gaps must fill the space.
bool PlacementSearch::RaiseToReachable(int64_t floor, int64_t highest_first) {
  const int64_t heights = std::min(sorted_.back().first - floor + 64, capacity_ - floor + 1);
  const bool few_heights = heights <= ReachableHeights::kMaxHeights;
  ReachableHeights reachable(few_heights ? heights : 1, highest_first - floor);
  int64_t smallest = kLargest;
  for (const auto& [offset, b] : sorted_) {
    smallest = std::min(smallest, Size(b));
    if (few_heights) reachable.Add(offset - floor, Size(b));
  }
  for (size_t i = sorted_.size(); i-- > 0 && sorted_[i].first > highest_first;) {
    const int64_t offset =
        floor + (few_heights ? reachable.Next(sorted_[i].first - floor) : smallest);
    if (!Raise(sorted_[i].second, offset)) return false;
  }
  return true;
}

bool PlacementSearch::Grounded(int buffer) const {
  const auto b = static_cast<size_t>(buffer);
  const InstanceBuffer& entry = instance_.buffers[b];
  if (prev_same_[b] >= 0 && !placed_[static_cast<size_t>(prev_same_[b])]) return false;
  for (int s = entry.first_section; s <= entry.last_section; ++s) {
    if (lowest_top_[static_cast<size_t>(s)] <= offset_[b]) return false;
  }
  return true;
}

int PlacementSearch::SelectBuffer(Range range) {
  for (int section = range.first; section <= range.last; ++section) {
    const auto s = static_cast<size_t>(section);
    const int64_t highest_first = capacity_ - unplaced_size_[s];
    lowest_top_[s] = kLargest;
    choices_[s] = 0;
    for (int i = 0; i < count_[s]; ++i) {
      const auto b = static_cast<size_t>(members_[s][static_cast<size_t>(i)]);
      lowest_top_[s] = std::min(lowest_top_[s], offset_[b] + instance_.buffers[b].size);
      if (offset_[b] <= highest_first) ++choices_[s];
    }
  }
  int best = -1;
  double best_score = 0;
  const int end = first_buffer_[static_cast<size_t>(range.last) + 1];
  for (int buffer = first_buffer_[static_cast<size_t>(range.first)]; buffer < end; ++buffer) {
    const auto b = static_cast<size_t>(buffer);
    if (placed_[b] || !Grounded(buffer)) continue;
    double score = std::numeric_limits<double>::max();
    const InstanceBuffer& entry = instance_.buffers[b];
    for (int section = entry.first_section; section <= entry.last_section; ++section) {
      const auto s = static_cast<size_t>(section);
      const bool forced = choices_[s] == 1;
      double section_score = forced ? 0.0 : choices_[s] + 1.0 / weight_[s];
      if (lowest_first_ && !forced)
        section_score += kAboveAllScores * static_cast<double>(offset_[b]);
      score = std::min(score, section_score);
    }
    if (best < 0 || score < best_score ||
        (score == best_score && rank_[b] < rank_[static_cast<size_t>(best)])) {
      best = buffer;
      best_score = score;
    }
  }
  return best;
}

int64_t PlacementSearch::NextOffset(int buffer) const {
  const auto b = static_cast<size_t>(buffer);
  const InstanceBuffer& entry = instance_.buffers[b];
  const auto first = static_cast<size_t>(entry.first_section);
  int64_t next = kLargest;
  const auto consider = [&](int other) {
    const auto o = static_cast<size_t>(other);
    if (other != buffer && !placed_[o]) {
      next = std::min(next, offset_[o] + instance_.buffers[o].size);
    }
  };
  for (int i = 0; i < count_[first]; ++i) consider(members_[first][static_cast<size_t>(i)]);
  const int end = first_buffer_[static_cast<size_t>(entry.last_section) + 1];
  for (int other = first_buffer_[first + 1]; other < end; ++other) consider(other);
  return next;
}

bool PlacementSearch::RaiseToNextOffset(int buffer) {
  const int64_t next = NextOffset(buffer);
  return next <= max_offset_[static_cast<size_t>(buffer)] && Raise(buffer, next);
}

uint64_t PlacementSearch::DescribeState(Range range) {
  state_.clear();
  uint64_t hash = 0;
  const int end = first_buffer_[static_cast<size_t>(range.last) + 1];
  for (int buffer = first_buffer_[static_cast<size_t>(range.first)]; buffer < end; ++buffer) {
    const auto b = static_cast<size_t>(buffer);
    if (placed_[b]) continue;
    hash ^= hash_[b];
    // Offsets are at most `capacity_`; where that has more than 32 bits nothing is remembered.
    state_.push_back(static_cast<uint32_t>(offset_[b]));
  }
  return hash;
}

void PlacementSearch::PushParts(Range range) {
  const size_t begin = parts_.size();
  int first = -1;
  for (int section = range.first; section <= range.last; ++section) {
    const auto s = static_cast<size_t>(section);
    if (count_[s] == 0) continue;
    if (first < 0) first = section;
    if (section == range.last || crossing_[s] == 0) {
      parts_.push_back({first, section});
      first = -1;
    }
  }
  const auto unplaced = [&](Range part) {
    int count = 0;
    const int end = first_buffer_[static_cast<size_t>(part.last) + 1];
    for (int b = first_buffer_[static_cast<size_t>(part.first)]; b < end; ++b) {
      count += placed_[static_cast<size_t>(b)] ? 0 : 1;
    }
    return count;
  };
  // The smallest first: if it is hopeless, that is found soonest.
  if (parts_.size() - begin > 1) {
    std::stable_sort(parts_.begin() + static_cast<std::ptrdiff_t>(begin), parts_.end(),
                     [&](Range a, Range b) { return unplaced(a) < unplaced(b); });
  }
  frames_.push_back({range, -1, false, false, trail_.size(), begin, begin, parts_.size()});
}

bool PlacementSearch::Enter(Range range, bool remember) {
  const bool use_nogoods = capacity_ <= std::numeric_limits<uint32_t>::max();
  if (use_nogoods) {
    const uint64_t hash = DescribeState(range);
    if (state_.size() >= kSmallestNogood && nogoods_.Covers(hash, state_)) return false;
  }
  const int buffer = SelectBuffer(range);
  frames_.push_back({range, buffer, true, remember && use_nogoods, trail_.size(), 0, 0, 0});
  work_ += range.last - range.first + 1;
  if (!PlaceAtLeastOffset(buffer) || !Propagate()) return false;
  PushParts(range);
  return true;
}

// Goes back to the last branch not yet explored and takes it. False if there is none.
bool PlacementSearch::Retreat() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.buffer < 0) {
      parts_.resize(frame.begin_part);
      frames_.pop_back();
      continue;
    }
    Undo(frame.trail_size);
    if (frame.at_offset) {
      frame.at_offset = false;
      const Range range = frame.range;
      if (RaiseToNextOffset(frame.buffer) && Propagate() && Enter(range, false)) return true;
      continue;
    }
    if (frame.remember) {
      const uint64_t hash = DescribeState(frame.range);
      if (state_.size() >= kSmallestNogood) nogoods_.Add(hash, state_);
    }
    frames_.pop_back();
  }
  return false;
}

int64_t PlacementSearch::NextLimit() const {
  int64_t next = kLargest;
  for (size_t b = 0; b < instance_.buffers.size(); ++b) {
    const InstanceBuffer& buffer = instance_.buffers[b];
    const int64_t room = limit_bytes_ - buffer.bytes;
    int64_t offset = room < 0 ? 0 : room / instance_.unit + 1;
    if (buffer.fixed) {
      if (offset > buffer.min_offset) continue;
      offset = buffer.min_offset;
    }
    next = std::min(next, offset * instance_.unit + buffer.bytes);
  }
  return next;
}

std::vector<int64_t> PlacementSearch::Offsets() const {
  std::vector<int64_t> offsets;
  offsets.reserve(offset_.size());
  for (const int64_t offset : offset_) offsets.push_back(offset * instance_.unit);
  return offsets;
}

SearchOutcome PlacementSearch::Run(const SearchStrategy& strategy, int64_t work_limit,
                                   std::optional<std::chrono::steady_clock::time_point> deadline) {
  if (!StartRun()) return SearchOutcome::kInfeasible;
  ComputeRanks(strategy);
  lowest_first_ = strategy.lowest_first;
  if (instance_.sections == 0) return SearchOutcome::kFound;
  const int64_t work_end = work_ + work_limit;
  int64_t next_clock_check = work_;
  PushParts({0, instance_.sections - 1});
  while (!frames_.empty()) {
    if (work_ >= work_end) return SearchOutcome::kOutOfWork;
    if (deadline && work_ >= next_clock_check) {
      next_clock_check = work_ + kWorkPerClockCheck;
      if (std::chrono::steady_clock::now() >= *deadline) return SearchOutcome::kOutOfTime;
    }
    Frame& list = frames_.back();  // always a list here
    if (list.next_part == list.end_part) {
      // All its parts are solved: the choices within need no second look.
      size_t depth = frames_.size() - 1;
      while (depth > 0 && frames_[depth - 1].buffer >= 0) --depth;
      parts_.resize(list.begin_part);
      frames_.resize(depth);
      continue;
    }
    const Range part = parts_[list.next_part++];
    if (!Enter(part, true) && !Retreat()) return SearchOutcome::kInfeasible;
  }
  return SearchOutcome::kFound;
}

}  // namespace tenon::converter
