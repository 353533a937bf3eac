#include "converter/solve/time/time_resources.hpp"

#include <algorithm>

namespace tenon::converter {

void FreeBytes::Reset(int64_t bytes) {
  pieces_.assign(1, {0, bytes});
  total_ = bytes;
}

void FreeBytes::Add(Picoseconds time, int64_t bytes) {
  if (bytes == 0) return;
  total_ += bytes;
  const auto place = std::upper_bound(pieces_.begin(), pieces_.end(), time,
                                      [](Picoseconds t, const Piece& p) { return t < p.time; });
  if (place != pieces_.begin() && std::prev(place)->time == time) {
    std::prev(place)->bytes += bytes;
  } else {
    pieces_.insert(place, {time, bytes});
  }
}

Picoseconds FreeBytes::TimeFor(int64_t bytes) const {
  for (const Piece& piece : pieces_) {
    bytes -= piece.bytes;
    if (bytes <= 0) return piece.time;
  }
  return pieces_.empty() ? 0 : pieces_.back().time;
}

int64_t FreeBytes::FreeBy(Picoseconds time) const {
  int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.time <= time ? piece.bytes : 0;
  return bytes;
}

Picoseconds FreeBytes::Take(int64_t bytes, Picoseconds at) {
  total_ -= bytes;
  Picoseconds time = 0;
  auto later = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                [](Picoseconds t, const Piece& p) { return t < p.time; });
  auto first = later;
  while (bytes > 0 && first != pieces_.begin()) {
    const auto piece = std::prev(first);
    time = std::max(time, piece->time);
    const int64_t taken = std::min(bytes, piece->bytes);
    piece->bytes -= taken;
    bytes -= taken;
    if (piece->bytes > 0) break;
    first = piece;
  }
  auto last = later;
  while (bytes > 0 && last != pieces_.end()) {
    const int64_t taken = std::min(bytes, last->bytes);
    last->bytes -= taken;
    bytes -= taken;
    time = last->time;
    if (last->bytes > 0) break;
    ++last;
  }
  pieces_.erase(first, last);
  return time;
}

void FreeBytes::Forget(Picoseconds time) {
  size_t known = 0;
  int64_t bytes = 0;
  while (known < pieces_.size() && pieces_[known].time <= time) bytes += pieces_[known++].bytes;
  if (known < 2) return;
  pieces_[known - 1].bytes = bytes;
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(known - 1));
}

void TransferTimeline::Reset(Picoseconds shortest) {
  gaps_.clear();
  end_ = 0;
  shortest_ = std::max<Picoseconds>(shortest, 1);
}

Picoseconds TransferTimeline::FirstFit(Picoseconds ready, Picoseconds length) const {
  for (const Gap& gap : gaps_) {
    const Picoseconds start = std::max(ready, gap.begin);
    if (start + length <= gap.end) return start;
  }
  return std::max(ready, end_);
}

void TransferTimeline::Reserve(Picoseconds start, Picoseconds length) {
  const Picoseconds end = start + length;
  if (start >= end_) {
    if (start - end_ >= shortest_) gaps_.push_back({end_, start});
    end_ = end;
  } else {
    const auto gap = std::find_if(gaps_.begin(), gaps_.end(),
                                  [&](const Gap& g) { return g.begin <= start && end <= g.end; });
    const Gap before{gap->begin, start};
    const Gap behind{end, gap->end};
    auto place = gaps_.erase(gap);
    if (behind.end - behind.begin >= shortest_) place = gaps_.insert(place, behind);
    if (before.end - before.begin >= shortest_) gaps_.insert(place, before);
  }
  // The oldest gaps are the least likely to be useful.
  if (gaps_.size() > kMostGaps) gaps_.erase(gaps_.begin(), gaps_.begin() + kMostGaps / 2);
}

}  // namespace tenon::converter
