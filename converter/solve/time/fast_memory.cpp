#include "converter/solve/time/fast_memory.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

constexpr size_t kMostPieces = 128;

/// Calls `use(first, last)` for every shortest run of free pieces with so many bytes: pieces first
/// to last, of which none can be left out.
template <typename Use>
void ForEachRun(const std::vector<FastMemory::Piece>& pieces, int64_t bytes, const Use& use) {
  size_t first = 0;
  for (size_t last = 0; last < pieces.size(); ++last) {
    if (pieces[last].hold >= 0) {
      first = last + 1;
      continue;
    }
    while (first < last && pieces[last].end - pieces[first + 1].begin >= bytes) ++first;
    if (pieces[last].end - pieces[first].begin >= bytes) use(first, last);
  }
}

}  // namespace

void FastMemory::Reset(int64_t bytes) { pieces_.assign(1, {0, bytes, 0, -1}); }

bool FastMemory::HasPlace(int64_t bytes) const {
  int64_t run = 0;
  for (const Piece& piece : pieces_) {
    run = piece.hold >= 0 ? 0 : run + piece.end - piece.begin;
    if (run >= bytes) return true;
  }
  return bytes == 0;
}

Picoseconds FastMemory::TimeFor(int64_t bytes) const {
  Picoseconds best = INT64_MAX;
  ForEachRun(pieces_, bytes, [&](size_t first, size_t last) {
    Picoseconds time = 0;
    for (size_t i = first; i <= last; ++i) time = std::max(time, pieces_[i].free_from);
    best = std::min(best, time);
  });
  return best == INT64_MAX ? 0 : best;
}

FastMemory::Window FastMemory::Take(int64_t bytes, Picoseconds at, Side side, int32_t hold) {
  Window best{0, INT64_MAX};
  if (bytes == 0) return {0, 0};
  ForEachRun(pieces_, bytes, [&](size_t first, size_t last) {
    Window window;
    for (size_t i = first; i <= last; ++i) {
      window.free_from = std::max(window.free_from, pieces_[i].free_from);
    }
    window.begin = side == Side::kLow ? pieces_[first].begin : pieces_[last].end - bytes;
    const bool now = window.free_from <= at;
    const bool best_now = best.free_from <= at;
    const bool nearer = side == Side::kLow ? false : window.begin > best.begin;
    if (now ? !best_now || nearer : !best_now && window.free_from < best.free_from) best = window;
  });
  const int64_t end = best.begin + bytes;
  size_t first = 0;
  while (pieces_[first].end <= best.begin) ++first;
  size_t last = first;
  while (pieces_[last].end < end) ++last;
  const Piece before{pieces_[first].begin, best.begin, pieces_[first].free_from, -1};
  const Piece behind{end, pieces_[last].end, pieces_[last].free_from, -1};
  const auto place = pieces_.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Piece> made;
  if (before.begin < before.end) made.push_back(before);
  made.push_back({best.begin, end, 0, hold});
  if (behind.begin < behind.end) made.push_back(behind);
  const size_t old = last - first + 1;
  const size_t common = std::min(old, made.size());
  std::copy(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(common), place);
  if (made.size() > old) {
    pieces_.insert(place + static_cast<std::ptrdiff_t>(common),
                   made.begin() + static_cast<std::ptrdiff_t>(common), made.end());
  } else {
    pieces_.erase(place + static_cast<std::ptrdiff_t>(common),
                  place + static_cast<std::ptrdiff_t>(old));
  }
  return best;
}

size_t FastMemory::PieceAt(int64_t begin) const {
  const auto found = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                      [](int64_t b, const Piece& p) { return b < p.begin; });
  return static_cast<size_t>(found - pieces_.begin()) - 1;
}

void FastMemory::Rename(int64_t begin, int32_t from, int32_t to) {
  Piece& piece = pieces_[PieceAt(begin)];
  if (piece.hold == from) piece.hold = to;
}

void FastMemory::Release(int64_t begin, Picoseconds time) {
  Piece& piece = pieces_[PieceAt(begin)];
  piece.hold = -1;
  piece.free_from = time;
}

void FastMemory::MergeIf(Picoseconds time, bool all) {
  size_t kept = 0;
  for (size_t i = 1; i < pieces_.size(); ++i) {
    Piece& last = pieces_[kept];
    const Piece& next = pieces_[i];
    const bool both_free = last.hold < 0 && next.hold < 0;
    const bool alike =
        last.free_from == next.free_from || (last.free_from <= time && next.free_from <= time);
    if (both_free && (all || alike)) {
      last.end = next.end;
      last.free_from = std::max(last.free_from, next.free_from);
    } else {
      pieces_[++kept] = next;
    }
  }
  pieces_.resize(kept + 1);
}

void FastMemory::Simplify(Picoseconds time) {
  MergeIf(time, false);
  if (pieces_.size() > kMostPieces) MergeIf(time, true);
}

}  // namespace tenon::converter
