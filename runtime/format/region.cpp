#include "runtime/format/region.hpp"

#include "runtime/base/dtype.hpp"

namespace tenon {
namespace {

struct Level {
  PlanBytes count;
  PlanBytes pitch;
};

/// One region's interval of digits at one level of a common grid.
struct Interval {
  PlanBytes begin;
  PlanBytes count;
};

/// Walks a region through a grid from the innermost level outwards.
class Digits {
 public:
  explicit Digits(const Region& region) : region_(region) {}

  /// The interval at the level of `pitch`, whose digits run below `radix`. False if the region is
  /// no box in this grid.
  bool Take(PlanBytes pitch, PlanBytes radix, Interval* interval) {
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
  PlanBytes carry_ = 1;
};

PlanBytes Common(const Interval& a, const Interval& b) {
  const PlanBytes begin = a.begin > b.begin ? a.begin : b.begin;
  const PlanBytes a_end = a.begin + a.count;
  const PlanBytes b_end = b.begin + b.count;
  const PlanBytes end = a_end < b_end ? a_end : b_end;
  return end > begin ? end - begin : 0;
}

PlanBytes Smaller(PlanBytes a, PlanBytes b) { return a < b ? a : b; }

/// The smallest of the region's pitches above `pitch`, or kMostBytes.
PlanBytes NextPitch(const Region& region, PlanBytes pitch) {
  for (int i = 0; i < region.levels; ++i) {
    if (region.pitch[i] > pitch) return region.pitch[i];
  }
  return kMostBytes;
}

}  // namespace

Region MakeRegion(const TensorInfo& tensor) {
  Region region;
  region.offset = tensor.offset;
  region.end = tensor.offset;
  const auto element = static_cast<PlanBytes>(DTypeBytes(tensor.dtype));
  Level sorted[kMaxRank];
  int rank = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const auto count = static_cast<PlanBytes>(tensor.dims[i]);
    const auto pitch = static_cast<PlanBytes>(tensor.strides[i]) * element;
    if (count == 0) {
      region.distinct = true;
      return region;
    }
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
  PlanBytes extent = element;  // from the first to the last byte of the levels so far
  for (int i = 0; i < rank; ++i) {
    int last = region.levels - 1;
    const PlanBytes run = region.count[last] * region.pitch[last];
    const PlanBytes grown = extent + (sorted[i].count - 1) * sorted[i].pitch;
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

PlanBytes OverlapBytes(const Region& a, const Region& b) {
  if (a.bytes == 0 || b.bytes == 0 || a.end <= b.offset || b.end <= a.offset) return 0;
  Digits a_digits(a);
  Digits b_digits(b);
  PlanBytes common = 1;
  PlanBytes pitch = 1;
  while (pitch != kMostBytes) {
    // The next level of the grid is the next larger pitch of either region.
    const PlanBytes next = Smaller(NextPitch(a, pitch), NextPitch(b, pitch));
    if (next != kMostBytes && next % pitch != 0) return kUnknownOverlap;
    const PlanBytes radix = next == kMostBytes ? kMostBytes : next / pitch;
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
