// What tasks compete for, in time: bytes of fast memory and the transfer engine.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Bytes of fast memory with the times from which on they are free. Every byte has one owner at any
/// time, so what is handed out never exceeds the memory.
class FreeBytes {
 public:
  void Reset(int64_t bytes);
  void Add(Picoseconds time, int64_t bytes);
  /// All that is free or will be when what is planned so far has ended.
  [[nodiscard]] int64_t total() const { return total_; }
  /// The time from which on so many are free; `bytes` must not exceed the total.
  [[nodiscard]] Picoseconds TimeFor(int64_t bytes) const;
  /// Takes bytes to be used from `at` on, those that have become free last first, so that earlier
  /// ones stay for earlier uses; the next to become free where these do not suffice. Gives the time
  /// from which on they are free, maybe before `at`.
  Picoseconds Take(int64_t bytes, Picoseconds at);
  /// Nothing will be taken before `time`.
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

/// The transfer engine: one transfer at a time, in gaps between those already planned.
class TransferTimeline {
 public:
  /// Gaps shorter than `shortest` are of no use to anybody.
  void Reset(Picoseconds shortest);
  /// Start of the first time not before `ready` that a transfer of this length fits into.
  [[nodiscard]] Picoseconds FirstFit(Picoseconds ready, Picoseconds length) const;
  void Reserve(Picoseconds start, Picoseconds length);
  /// Before this nothing fits.
  [[nodiscard]] Picoseconds first_idle() const { return gaps_.empty() ? end_ : gaps_[0].begin; }

 private:
  struct Gap {
    Picoseconds begin;
    Picoseconds end;
  };
  static constexpr size_t kMostGaps = 256;
  std::vector<Gap> gaps_;  ///< by time
  Picoseconds end_ = 0;    ///< behind it all is idle
  Picoseconds shortest_ = 0;
};

}  // namespace tenon::converter
