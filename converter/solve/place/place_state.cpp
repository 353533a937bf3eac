#include "converter/solve/place/place_state.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "converter/solve/place/place_reach.hpp"

namespace tenon::converter {
namespace {

int64_t AlignUp(int64_t value, int64_t alignment) {
  if (alignment == 1) return value;
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

PlacementState::PlacementState(const Instance& instance) : instance_(instance) {
  const size_t n = instance.buffers.size();
  const size_t sections = Index(instance.sections);
  offset_.resize(n);
  max_offset_.resize(n);
  placed_.resize(n);
  slots_.resize(n);
  members_.resize(sections);
  count_.resize(sections);
  unplaced_size_.resize(sections);
  crossing_.resize(sections);
  failures_.assign(sections, 1.0);
  dirty_.resize((sections + 63) / 64);
  changed_.resize(dirty_.size());
  first_buffer_.assign(sections + 1, 0);

  size_t slots = 0;
  for (size_t b = 0; b < n; ++b) {
    const InstanceBuffer& buffer = instance.buffers[b];
    slots_[b] = slots;
    slots += Index(buffer.last_section - buffer.first_section + 1);
    for (int s = buffer.first_section; s <= buffer.last_section; ++s) {
      members_[Index(s)].push_back(static_cast<int>(b));
    }
    ++first_buffer_[Index(buffer.first_section) + 1];
  }
  position_.resize(slots);
  for (size_t s = 0; s < sections; ++s) first_buffer_[s + 1] += first_buffer_[s];
  ChainExchangeable();
}

void PlacementState::ChainExchangeable() {
  const size_t n = instance_.buffers.size();
  next_same_.assign(n, -1);
  previous_same_.assign(n, -1);
  const auto kind = [&](int b) {
    const InstanceBuffer& buffer = instance_.buffers[Index(b)];
    return std::tuple(buffer.first_section, buffer.last_section, buffer.size, buffer.bytes,
                      buffer.alignment);
  };
  std::vector<int> order;
  for (size_t b = 0; b < n; ++b) {
    if (!instance_.buffers[b].fixed) order.push_back(static_cast<int>(b));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return kind(a) < kind(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (kind(order[i - 1]) != kind(order[i])) continue;
    next_same_[Index(order[i - 1])] = order[i];
    previous_same_[Index(order[i])] = order[i - 1];
  }
}

void PlacementState::SetLimit(int64_t limit_bytes) {
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

int64_t PlacementState::NextLimit() const {
  int64_t next = kLargest;
  for (const InstanceBuffer& buffer : instance_.buffers) {
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

bool PlacementState::Reset() {
  trail_.clear();
  std::fill(placed_.begin(), placed_.end(), char{0});
  std::fill(dirty_.begin(), dirty_.end(), 0);
  std::fill(changed_.begin(), changed_.end(), ~uint64_t{0});
  ResetSections();
  for (size_t b = 0; b < offset_.size(); ++b) {
    offset_[b] = instance_.buffers[b].min_offset;
    if (offset_[b] > max_offset_[b]) return false;
  }
  for (size_t b = 0; b < offset_.size(); ++b) {
    const int buffer = static_cast<int>(b);
    MarkDirty(buffer);
    // Begins at the front of each chain; raising a buffer raises those behind it.
    if (previous_same_[b] < 0 && next_same_[b] >= 0 &&
        !Raise(next_same_[b], offset_[b] + Size(buffer))) {
      return false;
    }
  }
  return Propagate();
}

void PlacementState::ResetSections() {
  std::fill(crossing_.begin(), crossing_.end(), 0);
  for (size_t s = 0; s < members_.size(); ++s) {
    std::sort(members_[s].begin(), members_[s].end());
    count_[s] = members_[s].size();
    unplaced_size_[s] = 0;
    for (size_t i = 0; i < members_[s].size(); ++i) {
      const size_t b = Index(members_[s][i]);
      const InstanceBuffer& buffer = instance_.buffers[b];
      unplaced_size_[s] += buffer.size;
      if (Index(buffer.last_section) > s) ++crossing_[s];
      position_[slots_[b] + s - Index(buffer.first_section)] = i;
    }
  }
}

bool PlacementState::PlaceAtLeastOffset(int buffer) {
  TakeOut(buffer);
  MarkDirty(buffer);
  const int64_t top = Offset(buffer) + Size(buffer);
  bool possible = true;
  ForEachUnplacedOverlap(buffer, [&](int other) { possible = possible && Raise(other, top); });
  return possible && Propagate();
}

bool PlacementState::RaiseToNextOffset(int buffer) {
  const int64_t next = NextOffset(buffer);
  return next <= max_offset_[Index(buffer)] && Raise(buffer, next) && Propagate();
}

int64_t PlacementState::NextOffset(int buffer) const {
  int64_t next = kLargest;
  ForEachUnplacedOverlap(buffer, [&](int other) {
    if (other != buffer) next = std::min(next, Offset(other) + Size(other));
  });
  return next;
}

/// Calls function(other) for every unplaced buffer alive with `buffer`, including itself if it is
/// unplaced.
template <typename Function>
void PlacementState::ForEachUnplacedOverlap(int buffer, Function function) const {
  const InstanceBuffer& entry = instance_.buffers[Index(buffer)];
  const size_t first = Index(entry.first_section);
  for (size_t i = 0; i < count_[first]; ++i) function(members_[first][i]);
  const int end = first_buffer_[Index(entry.last_section) + 1];
  for (int other = first_buffer_[first + 1]; other < end; ++other) {
    if (!IsPlaced(other)) function(other);
  }
}

void PlacementState::TakeOut(int buffer) {
  const size_t b = Index(buffer);
  const InstanceBuffer& entry = instance_.buffers[b];
  placed_[b] = 1;
  trail_.push_back({~buffer, 0});
  for (int section = entry.first_section; section <= entry.last_section; ++section) {
    const size_t s = Index(section);
    size_t& position = position_[slots_[b] + s - Index(entry.first_section)];
    const size_t last = --count_[s];
    const size_t moved = Index(members_[s][last]);
    std::swap(members_[s][position], members_[s][last]);
    position_[slots_[moved] + s - Index(instance_.buffers[moved].first_section)] = position;
    position = last;
    unplaced_size_[s] -= entry.size;
    if (section < entry.last_section) --crossing_[s];
  }
}

void PlacementState::Undo(size_t checkpoint) {
  while (trail_.size() > checkpoint) {
    const Change change = trail_.back();
    trail_.pop_back();
    if (change.buffer >= 0) {
      offset_[Index(change.buffer)] = change.old_offset;
      Mark(change.buffer, changed_);
      continue;
    }
    const InstanceBuffer& entry = instance_.buffers[Index(~change.buffer)];
    placed_[Index(~change.buffer)] = 0;
    Mark(~change.buffer, changed_);
    for (int section = entry.first_section; section <= entry.last_section; ++section) {
      const size_t s = Index(section);
      ++count_[s];  // removals are undone last first: it lies just behind the unplaced ones
      unplaced_size_[s] += entry.size;
      if (section < entry.last_section) ++crossing_[s];
    }
  }
  std::fill(dirty_.begin(), dirty_.end(), 0);
}

bool PlacementState::Raise(int buffer, int64_t offset) {
  for (; buffer >= 0; buffer = next_same_[Index(buffer)]) {
    const size_t b = Index(buffer);
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

void PlacementState::Mark(int buffer, Sections& sections) const {
  const InstanceBuffer& entry = instance_.buffers[Index(buffer)];
  const size_t first = Index(entry.first_section);
  const size_t last = Index(entry.last_section);
  const uint64_t from = ~uint64_t{0} << (first % 64);
  const uint64_t to = ~uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) {
    sections[first / 64] |= from & to;
    return;
  }
  sections[first / 64] |= from;
  for (size_t word = first / 64 + 1; word < last / 64; ++word) sections[word] = ~uint64_t{0};
  sections[last / 64] |= to;
}

void PlacementState::MarkDirty(int buffer) {
  first_dirty_ = std::min(first_dirty_, Index(instance_.buffers[Index(buffer)].first_section) / 64);
  Mark(buffer, dirty_);
  Mark(buffer, changed_);
}

bool PlacementState::Propagate() {
  for (size_t word = std::exchange(first_dirty_, dirty_.size()); word < dirty_.size();) {
    if (dirty_[word] == 0) {
      ++word;
      continue;
    }
    const int section = static_cast<int>(word * 64) + std::countr_zero(dirty_[word]);
    dirty_[word] &= dirty_[word] - 1;
    ++work_;
    if (!CheckSection(section)) {
      failures_[Index(section)] += 1.0;
      changed_[word] |= uint64_t{1} << (section % 64);
      return false;
    }
    // Raising a buffer marks sections on either side.
    word = std::min(word, std::exchange(first_dirty_, dirty_.size()));
  }
  return true;
}

bool PlacementState::CheckSection(int section) {
  const size_t s = Index(section);
  const size_t count = count_[s];
  if (count == 0) return true;
  int64_t floor = kLargest;
  int64_t highest = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t offset = Offset(members_[s][i]);
    floor = std::min(floor, offset);
    highest = std::max(highest, offset);
  }
  const int64_t highest_first = HighestFirst(section);
  if (floor > highest_first) return false;
  if (highest <= highest_first) return true;  // any of them can be the lowest
  SortByOffset(section);
  int64_t height = 0;
  for (const auto& [offset, b] : sorted_) height = std::max(height, offset) + Size(b);
  return height <= capacity_ && RaiseToReachable(floor, highest_first);
}

void PlacementState::SortByOffset(int section) {
  const size_t s = Index(section);
  sorted_.resize(count_[s]);
  for (size_t i = 0; i < sorted_.size(); ++i) {  // few, so insertion is quickest
    const int b = members_[s][i];
    const int64_t offset = Offset(b);
    size_t slot = i;
    for (; slot > 0 && sorted_[slot - 1].first > offset; --slot) sorted_[slot] = sorted_[slot - 1];
    sorted_[slot] = {offset, b};
  }
}

// The gaps in a section may add up to highest_first - floor. A buffer that lies higher than that
// has others of the section below it, which with those gaps must fill the space.
bool PlacementState::RaiseToReachable(int64_t floor, int64_t highest_first) {
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

}  // namespace tenon::converter
