// Keeps a partial placement and everything that follows from it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "converter/solve/place/place_instance.hpp"

namespace tenon::converter {

/// Some buffers are placed, and every other has a least offset; changes can be undone, last first.
/// Buffers are named by their index in the instance; offsets are in its units.
///
/// All consequences of a change are computed at once:
///   - An unplaced buffer lies above all placed ones alive with it.
///   - Per section, the stack of unplaced buffers above their least offsets must fit.
///   - The gaps in a section cannot add up to more than its slack, so that a buffer above the floor
///     rests at a height that others below it can fill (ReachableHeights).
///   - Interchangeable buffers are stacked in the order of their indices.
class PlacementState {
 public:
  /// `instance` must outlive the state.
  explicit PlacementState(const Instance& instance);

  /// Must be followed by Reset().
  void SetLimit(int64_t limit_bytes);

  /// Returns the smallest peak above the limit that a placement can have, in bytes.
  [[nodiscard]] int64_t NextLimit() const;

  /// Removes all placements. Returns false if it follows that nothing fits.
  [[nodiscard]] bool Reset();

  /// Places a buffer at its least offset. This and the next function return false if it follows
  /// that no placement is left; only Undo() may be called then.
  [[nodiscard]] bool PlaceAtLeastOffset(int buffer);

  /// Requires that the buffer does not lie at its least offset, but upon another unplaced one.
  [[nodiscard]] bool RaiseToNextOffset(int buffer);

  /// Returns a value with which Undo() returns to the present state.
  [[nodiscard]] size_t Checkpoint() const { return trail_.size(); }
  void Undo(size_t checkpoint);

  [[nodiscard]] bool IsPlaced(int buffer) const { return placed_[Index(buffer)] != 0; }
  /// Returns the least offset of an unplaced buffer or the offset of a placed one.
  [[nodiscard]] int64_t Offset(int buffer) const { return offset_[Index(buffer)]; }
  /// Returns whether an interchangeable buffer has to be placed before this one.
  [[nodiscard]] bool IsPreceded(int buffer) const {
    const int previous = previous_same_[Index(buffer)];
    return previous >= 0 && !IsPlaced(previous);
  }

  /// Returns the limit that no offset + size exceeds.
  [[nodiscard]] int64_t capacity() const { return capacity_; }
  [[nodiscard]] size_t UnplacedCount(int section) const { return count_[Index(section)]; }
  /// Returns the i-th one, in no particular order.
  [[nodiscard]] int Unplaced(int section, size_t i) const { return members_[Index(section)][i]; }
  [[nodiscard]] int64_t UnplacedSize(int section) const { return unplaced_size_[Index(section)]; }
  /// Returns the highest offset that the lowest unplaced buffer of a section can have.
  [[nodiscard]] int64_t HighestFirst(int section) const {
    return capacity_ - unplaced_size_[Index(section)];
  }
  /// Returns whether an unplaced buffer is alive in this section and in the next.
  [[nodiscard]] bool IsCrossed(int section) const { return crossing_[Index(section)] > 0; }
  /// Returns the first buffer that starts in or after `section` (<= the number of sections).
  [[nodiscard]] int FirstBuffer(int section) const { return first_buffer_[Index(section)]; }
  /// Returns how often nothing fitted into a section, in all runs, + 1.
  [[nodiscard]] double Failures(int section) const { return failures_[Index(section)]; }

  /// Calls visit(section) for each section of the range in which a buffer has been placed, taken
  /// back or raised, or nothing fitted, since it was visited last; ascending.
  template <typename Visit>
  void VisitChanged(int first, int last, Visit visit);

  /// Returns the number of sections examined so far.
  [[nodiscard]] int64_t work() const { return work_; }

 private:
  struct Change {
    int buffer;  // ~buffer: was placed
    int64_t old_offset;
  };

  using Sections = std::vector<uint64_t>;  // bit set

  static size_t Index(int i) { return static_cast<size_t>(i); }
  [[nodiscard]] int64_t Size(int buffer) const { return instance_.buffers[Index(buffer)].size; }
  void ChainExchangeable();
  void ResetSections();
  void TakeOut(int buffer);
  bool Raise(int buffer, int64_t offset);
  /// Adds the sections of a buffer.
  void Mark(int buffer, Sections& sections) const;
  void MarkDirty(int buffer);
  bool Propagate();
  bool CheckSection(int section);
  void SortByOffset(int section);
  bool RaiseToReachable(int64_t floor, int64_t highest_first);
  template <typename Function>
  void ForEachUnplacedOverlap(int buffer, Function function) const;
  [[nodiscard]] int64_t NextOffset(int buffer) const;

  const Instance& instance_;
  int64_t limit_bytes_ = 0;
  int64_t capacity_ = 0;
  int64_t work_ = 0;

  // The following are indexed by buffer.
  std::vector<int64_t> offset_;
  std::vector<int64_t> max_offset_;
  std::vector<char> placed_;
  std::vector<int> next_same_;  // the next of a chain of exchangeable buffers, or -1
  std::vector<int> previous_same_;
  std::vector<size_t> slots_;  // where its positions in sections begin in position_
  std::vector<size_t> position_;

  // The following are indexed by section.
  std::vector<std::vector<int>> members_;  // the first count_ are unplaced
  std::vector<size_t> count_;
  std::vector<int64_t> unplaced_size_;
  std::vector<int> crossing_;
  std::vector<int> first_buffer_;
  std::vector<double> failures_;

  Sections dirty_;          // to be examined
  size_t first_dirty_ = 0;  // no word before it has a bit set
  Sections changed_;        // not visited since
  std::vector<Change> trail_;
  std::vector<std::pair<int64_t, int>> sorted_;
};

template <typename Visit>
void PlacementState::VisitChanged(int first, int last, Visit visit) {
  const size_t first_word = Index(first) / 64;
  const size_t last_word = Index(last) / 64;
  for (size_t word = first_word; word <= last_word; ++word) {
    uint64_t bits = changed_[word];
    if (word == first_word) bits &= ~uint64_t{0} << (Index(first) % 64);
    if (word == last_word) bits &= ~uint64_t{0} >> (63 - Index(last) % 64);
    changed_[word] &= ~bits;
    for (; bits != 0; bits &= bits - 1) {
      visit(static_cast<int>(word * 64) + std::countr_zero(bits));
    }
  }
}

}  // namespace tenon::converter
