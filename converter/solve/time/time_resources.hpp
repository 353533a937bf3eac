// Keeps track over time of what tasks compete for: bytes of fast memory and the transfer engine.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Records bytes of fast memory and the times from which they are free. Every byte has one owner at
/// any time, so allocations never exceed the memory.
class FreeBytes {
 public:
  void Reset(int64_t bytes);
  void Add(Picoseconds time, int64_t bytes);
  /// Returns all bytes that are free or will be when what is planned so far has ended.
  [[nodiscard]] int64_t total() const { return total_; }
  /// Returns the time from which so many are free; `bytes` must not exceed the total.
  [[nodiscard]] Picoseconds TimeFor(int64_t bytes) const;
  /// Returns the bytes that are free at `time`.
  [[nodiscard]] int64_t FreeBy(Picoseconds time) const;
  /// Takes bytes to be used from `at` on. It takes those that have become free last first, so that
  /// earlier ones stay for earlier uses; where these do not suffice, the next to become free.
  /// Returns the time from which they are free, which may be before `at`.
  Picoseconds Take(int64_t bytes, Picoseconds at);
  /// Promises that nothing will be taken before `time`.
  void Forget(Picoseconds time);
  [[nodiscard]] size_t pieces() const { return pieces_.size(); }

 private:
  struct Piece {
    Picoseconds time;
    int64_t bytes;
  };
  std::vector<Piece> pieces_;  ///< by time
  int64_t total_ = 0;
};

/// The transfer engine runs one transfer at a time, in gaps between those already planned.
class TransferTimeline {
 public:
  /// Drops all transfers. Gaps shorter than `shortest` are useless and not remembered.
  void Reset(Picoseconds shortest);
  /// Returns the first start not before `ready` at which a transfer of this length fits.
  [[nodiscard]] Picoseconds FirstFit(Picoseconds ready, Picoseconds length) const;
  void Reserve(Picoseconds start, Picoseconds length);
  /// Returns the time before which nothing fits.
  [[nodiscard]] Picoseconds first_idle() const { return gaps_.empty() ? end_ : gaps_[0].begin; }

 private:
  struct Gap {
    Picoseconds begin;
    Picoseconds end;
  };
  static constexpr size_t kMostGaps = 256;
  std::vector<Gap> gaps_;  ///< by time
  Picoseconds end_ = 0;    ///< the engine is idle from then on
  Picoseconds shortest_ = 0;
};

}  // namespace tenon::converter
