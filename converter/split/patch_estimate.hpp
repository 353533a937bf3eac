// What a chain cut into patches needs and costs, by arithmetic alone.
#pragma once

#include <cstdint>

#include "converter/split/chain.hpp"

namespace tenon::converter {

struct PatchEstimate {
  /// Most bytes that live at once of what the chain makes: buffers of patches, rows kept for the
  /// next patch, and its exits, whole from their first row on. What enters the chain or lives
  /// across it is not counted, nor are workspaces.
  int64_t peak = 0;
  int64_t copied_bytes = 0;     ///< rows that are moved, each time they are
  int64_t recomputed_work = 0;  ///< multiply-accumulates and elementary ops done twice
  int64_t ops = 0;              ///< that are executed, copies included
  int64_t effort = 0;           ///< ops looked at
};

/// O(min(parts, 12) x ops): where there are many patches, only the first, the last and some in
/// between are looked at. An op may write over an operand that it reads last, as the arena planner
/// allows; what the estimate cannot know of is layouts' copies and gaps.
[[nodiscard]] PatchEstimate EstimatePatches(const Chain& chain, const Patching& patching);

}  // namespace tenon::converter
