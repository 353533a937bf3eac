// Fast memory with addresses, over time: which bytes are taken, and from when on the others are
// free. What is handed out lies in one piece, so that a schedule made with it needs no placement.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

class FastMemory {
 public:
  /// Which end of memory something is put at where both are possible, so that what comes and goes
  /// quickly does not lie between what stays.
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
  /// Some place for so many bytes exists, be it later.
  [[nodiscard]] bool HasPlace(int64_t bytes) const;
  /// When the first such place is free; there must be one.
  [[nodiscard]] Picoseconds TimeFor(int64_t bytes) const;
  /// Takes the place that is free by `at` and nearest to its side; the first to become free, if
  /// none is.
  Window Take(int64_t bytes, Picoseconds at, Side side, int32_t hold);
  /// The bytes of `from` now belong to `to`.
  void Rename(int64_t begin, int32_t from, int32_t to);
  void Release(int64_t begin, Picoseconds time);
  /// Nothing will be taken before `time`: what is free by then is one piece. Beyond a number of
  /// pieces neighbours count as free from the later of their times.
  void Simplify(Picoseconds time);
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  [[nodiscard]] size_t PieceAt(int64_t begin) const;
  void MergeIf(Picoseconds time, bool all);

  std::vector<Piece> pieces_;  ///< all of memory, by address
};

}  // namespace tenon::converter
