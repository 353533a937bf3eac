#include "runtime/format/region.hpp"

#include "runtime/base/dtype.hpp"

namespace tenon {
namespace {

struct Level {
  uint64_t count;
  uint64_t pitch;
};

/// One region's interval of digits at one level of a common grid.
struct Interval {
  uint64_t begin;
  uint64_t count;
};

/// Walks a region through a grid from the innermost level outwards.
class Digits {
 public:
  explicit Digits(const Region& region) : region_(region) {}

  /// The interval at the level of `pitch`, whose digits run below `radix`. False if the region is
  /// no box in this grid.
  bool Take(uint64_t pitch, uint64_t radix, Interval* interval) {
    interval->begin = region_.offset / pitch % radix;
    interval->count = carry_;
    carry_ = 1;
    if (level_ < region_.levels && region_.pitch[level_] == pitch) {
      interval->count *= region_.count[level_++];
    }
    if (interval->count <= radix - interval->begin) return true;
    // A run over several whole rows of the other region's grid.
    if (interval->begin != 0 || interval->count % radix != 0) return false;
    carry_ = interval->count / radix;
    interval->count = radix;
    return true;
  }

 private:
  const Region& region_;
  int level_ = 0;
  uint64_t carry_ = 1;
};

uint64_t Common(const Interval& a, const Interval& b) {
  const uint64_t begin = a.begin > b.begin ? a.begin : b.begin;
  const uint64_t a_end = a.begin + a.count;
  const uint64_t b_end = b.begin + b.count;
  const uint64_t end = a_end < b_end ? a_end : b_end;
  return end > begin ? end - begin : 0;
}

uint64_t Smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// The smallest of the region's pitches above `pitch`, or UINT64_MAX.
uint64_t NextPitch(const Region& region, uint64_t pitch) {
  for (int i = 0; i < region.levels; ++i) {
    if (region.pitch[i] > pitch) return region.pitch[i];
  }
  return UINT64_MAX;
}

}  // namespace

Region MakeRegion(const TensorInfo& tensor) {
  Region region;
  region.offset = tensor.offset;
  region.end = tensor.offset;
  const auto element = static_cast<uint64_t>(DTypeBytes(tensor.dtype));
  Level sorted[kMaxRank];
  int rank = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const auto count = static_cast<uint64_t>(tensor.dims[i]);
    const auto pitch = static_cast<uint64_t>(tensor.strides[i]) * element;
    if (count == 0) return region;
    if (count == 1) continue;
    if (pitch == 0) {
      region.distinct = false;
      continue;
    }
    int at = rank++;
    for (; at > 0 && sorted[at - 1].pitch > pitch; --at) sorted[at] = sorted[at - 1];
    sorted[at] = {count, pitch};
  }
  region.levels = 1;
  region.count[0] = element;
  region.pitch[0] = 1;
  uint64_t extent = element;  // from the first to the last byte of the levels so far
  for (int i = 0; i < rank; ++i) {
    int last = region.levels - 1;
    const uint64_t run = region.count[last] * region.pitch[last];
    const uint64_t grown = extent + (sorted[i].count - 1) * sorted[i].pitch;
    if (sorted[i].pitch < extent) {
      region.distinct = false;
      region.levels = 1;
      region.count[0] = grown;
    } else if (sorted[i].pitch == run) {
      region.count[last] *= sorted[i].count;
    } else {
      region.count[++last] = sorted[i].count;
      region.pitch[last] = sorted[i].pitch;
      region.levels = last + 1;
    }
    extent = grown;
  }
  region.end = region.offset + extent;
  region.bytes = 1;
  for (int i = 0; i < region.levels; ++i) region.bytes *= region.count[i];
  return region;
}

uint64_t OverlapBytes(const Region& a, const Region& b) {
  if (a.bytes == 0 || b.bytes == 0 || a.end <= b.offset || b.end <= a.offset) return 0;
  Digits a_digits(a);
  Digits b_digits(b);
  uint64_t common = 1;
  uint64_t pitch = 1;
  while (pitch != UINT64_MAX) {
    // The next level of the grid is the next larger pitch of either region.
    const uint64_t next = Smaller(NextPitch(a, pitch), NextPitch(b, pitch));
    if (next != UINT64_MAX && next % pitch != 0) return kUnknownOverlap;
    const uint64_t radix = next == UINT64_MAX ? UINT64_MAX : next / pitch;
    Interval in_a;
    Interval in_b;
    if (!a_digits.Take(pitch, radix, &in_a) || !b_digits.Take(pitch, radix, &in_b)) {
      return kUnknownOverlap;
    }
    common *= Common(in_a, in_b);
    pitch = next;
  }
  return common;
}

}  // namespace tenon
