// Keeps track of fast memory with addresses over time: which bytes are taken, and from when the
// others are free. Allocations are contiguous, so that a schedule made with it needs no placement.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

class FastMemory {
 public:
  /// Selects the end of memory at which something is put if both are possible, so that short-lived
  /// data does not lie between long-lived data.
  enum class Side : uint8_t { kLow, kHigh };

  struct Piece {
    int64_t begin = 0;
    int64_t end = 0;
    Picoseconds free_from = 0;
    int32_t hold = -1;  ///< who has taken it; -1: it is free from `free_from` on
  };
  struct Window {
    int64_t begin = 0;
    Picoseconds free_from = 0;
  };

  void Reset(int64_t bytes);
  /// Returns true if so many contiguous bytes can be allocated, now or later.
  [[nodiscard]] bool HasPlace(int64_t bytes) const;
  /// Returns when the first such place is free; there must be one.
  [[nodiscard]] Picoseconds TimeFor(int64_t bytes) const;
  /// Takes the place that is free by `at` and nearest to its side; else the first to become free.
  Window Take(int64_t bytes, Picoseconds at, Side side, int32_t hold);
  /// Transfers the bytes of `from` to `to`.
  void Rename(int64_t begin, int32_t from, int32_t to);
  void Release(int64_t begin, Picoseconds time);
  /// Nothing will be taken before `time`, so what is free by then becomes one piece. Beyond a
  /// number of pieces, neighbours are merged and count as free from the later of their times.
  void Simplify(Picoseconds time);
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  [[nodiscard]] size_t PieceAt(int64_t begin) const;
  void MergeIf(Picoseconds time, bool all);

  std::vector<Piece> pieces_;  ///< all of memory, by address
};

}  // namespace tenon::converter
