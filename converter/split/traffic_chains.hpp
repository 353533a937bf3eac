// Cuts chains of ops into patches so that less is moved between a fast memory and the slow one
// behind it: what passes from op to op of a patch stays in fast memory (docs/methods.md, C4).
//
// Requires:   canonical graph, before kernels are chosen.
// Guarantees: as CutIntoPatches. What fits fast memory whole, with all that is alive beside it, is
//             not cut.
#pragma once

#include <cstdint>

#include "converter/split/patch_plan.hpp"

namespace tenon::converter {

struct TrafficOptions {
  int64_t fast_bytes = 0;  ///< that a patch may use, with the constants that its ops read
  SplittingLimits limits = {};
  int64_t longest = 24;  ///< ops of a chain
  /// Of patches, in bytes that are moved between the memories in the same time.
  double bytes_per_op = 8 * 1024;
  double bytes_per_work = 1.0 / 16;  ///< of a multiply-accumulate
  double bytes_per_copied = 1.0 / 8;
};

/// Divides the graph's order into stretches, each a single op or a chain that is cut, with the
/// least traffic: a tensor that does not stay in fast memory is stored once and fetched by every
/// stretch that reads it; constants that a chain has no space to keep are fetched for every patch.
/// An estimate: what is moved in the end is the schedule's affair.
[[nodiscard]] Result<MemorySplit> CutForTraffic(Graph& graph, const TrafficOptions& options);

}  // namespace tenon::converter
