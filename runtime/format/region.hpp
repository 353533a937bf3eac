// The bytes of a storage that a tensor shows, as nested runs, and what two such sets have in
// common.
#pragma once

#include <cstdint>

#include "runtime/base/shape.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// Bytes at `offset` + sum(i[k] * pitch[k]) with 0 <= i[k] < count[k]. Pitches grow with k, the
/// first is 1 and each is larger than the run before it. Every tensor of contiguous bytes, whatever
/// its dims, has one level; one channel part of a channels-last tensor has two.
struct Region {
  PlanBytes offset = 0;
  PlanBytes end = 0;     ///< one behind the last byte
  PlanBytes bytes = 0;   ///< that belong to the set, 0 if the tensor is empty
  bool distinct = true;  ///< no two elements share bytes
  int levels = 0;
  PlanBytes count[kMaxRank + 1];  ///< of the levels that there are; the rest is not set
  PlanBytes pitch[kMaxRank + 1];
};

/// Region of a tensor whose dims, strides and bounds have been checked. Where elements share bytes,
/// the region is everything between the first and the last: never less than the tensor shows.
[[nodiscard]] Region MakeRegion(const TensorInfo& tensor);

inline constexpr PlanBytes kMostBytes = static_cast<PlanBytes>(-1);
inline constexpr PlanBytes kUnknownOverlap = kMostBytes;

/// Number of bytes in both regions of one storage. kUnknownOverlap where the two fit no common
/// grid of rows (a row-crossing slice of a tensor that was written in columns, say).
[[nodiscard]] PlanBytes OverlapBytes(const Region& a, const Region& b);

}  // namespace tenon
