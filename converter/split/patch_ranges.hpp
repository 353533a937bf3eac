// Computes which rows of every tensor of a chain each patch computes, reads and keeps for later
// patches.
#pragma once

#include <vector>

#include "converter/split/chain.hpp"

namespace tenon::converter {

/// Rows of one tensor in one patch.
struct PatchRows {
  int32_t begin = 0;  ///< first row that is read, or computed
  int32_t computed =
      0;  ///< [computed, end) are computed; [begin, computed) come from the previous patch
  int32_t end = 0;
  int32_t next = 0;  ///< rows from here on are needed by later patches; `end` if none are

  [[nodiscard]] IndexRange New() const { return {computed, end}; }
  [[nodiscard]] IndexRange All() const { return {begin, end}; }
  [[nodiscard]] IndexRange FromLast() const { return {begin, computed}; }
  [[nodiscard]] IndexRange Kept() const { return {next, end}; }
};

/// Returns the rows of an exit, or of the summed tensor, that patch `part` of `parts` adds: an even
/// share, cut at multiples of the granularity of the op that makes it.
[[nodiscard]] IndexRange ExitShare(const Chain& chain, size_t tensor, int32_t parts, int32_t part);

/// Computes the rows of each patch. Patches may be requested in any order.
class PatchRanges {
 public:
  PatchRanges(const Chain& chain, const Patching& patching);

  /// One entry per tensor. O(ops).
  void Rows(int32_t part, std::vector<PatchRows>& rows);

 private:
  void Boundary(int32_t part, std::vector<int32_t>& done) const;
  void NeededFrom(const std::vector<int32_t>& done, std::vector<int32_t>& needed) const;
  void KeepingRows(int32_t part, std::vector<PatchRows>& rows);
  void RecomputedRows(int32_t part, std::vector<PatchRows>& rows) const;

  const Chain& chain_;
  Patching patching_;
  std::vector<int32_t> final_;  ///< rows made once all patches are done
  std::vector<int32_t> before_;
  std::vector<int32_t> after_;
  int32_t cached_ = -2;  ///< the boundary for which `after_` was computed
  std::vector<int32_t> needed_before_;
  std::vector<int32_t> needed_after_;
};

}  // namespace tenon::converter
