// Computes which rows of every tensor of a chain each patch computes, reads and keeps for later
// patches.
#pragma once

#include <optional>
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

/// Rows and columns of one tensor; without columns, [0, 1) of them.
struct Region {
  IndexRange rows;
  IndexRange columns;

  [[nodiscard]] bool IsEmpty() const { return rows.size() <= 0 || columns.size() <= 0; }
  [[nodiscard]] bool Contains(const Region& other) const {
    return rows.begin <= other.rows.begin && other.rows.end <= rows.end &&
           columns.begin <= other.columns.begin && other.columns.end <= columns.end;
  }
};

/// Returns the rows of an exit, or of the summed tensor, that patch `part` of `parts` adds: an even
/// share, cut at multiples of the granularity of the op that makes it.
[[nodiscard]] IndexRange ExitShare(const Chain& chain, size_t tensor, int32_t parts, int32_t part);

/// Returns how many patches add one share of the exits together: more than one where there are more
/// patches than the tallest exit has rows. Those that keep rows then make the rows that the share
/// needs in as many steps, as evenly as the ops allow, so that ops before one with a stride make
/// few rows at a time too.
[[nodiscard]] int32_t StepsPerShare(const Chain& chain, const Patching& patching);

/// Marks the tensors of which patches compute all rows that they read, and take none over from the
/// last patch; by tensor.
[[nodiscard]] std::vector<uint8_t> ComputedAgain(const Chain& chain, PatchPolicy policy);

/// Returns true if PatchPolicy::kKeepNarrow is anything else than kKeepRows.
[[nodiscard]] bool HasWideRows(const Chain& chain);

/// Computes the rows of each patch. Patches may be requested in any order.
class PatchRanges {
 public:
  PatchRanges(const Chain& chain, const Patching& patching);

  /// One entry per tensor. O(ops).
  void Rows(int32_t part, std::vector<PatchRows>& rows);

 private:
  void Boundary(int32_t part, std::vector<int32_t>& done) const;
  void AddNeeds(int32_t shares, std::vector<int32_t>& done) const;
  void NeededFrom(const std::vector<int32_t>& done, std::vector<int32_t>& needed) const;
  void KeepingRows(int32_t part, std::vector<PatchRows>& rows);
  void RecomputedRows(int32_t part, std::vector<PatchRows>& rows) const;
  void AddRead(const ChainOp& op, std::vector<PatchRows>& rows) const;
  void EndAtMultiples(size_t tensor, PatchRows& made) const;

  const Chain& chain_;
  Patching patching_;
  int32_t steps_;               ///< StepsPerShare
  int32_t least_rows_;          ///< a step makes multiples of so many rows
  std::vector<uint8_t> again_;  ///< ComputedAgain
  std::vector<int32_t> final_;  ///< rows made once all patches are done
  std::vector<int32_t> before_;
  std::vector<int32_t> after_;
  int32_t cached_ = -2;  ///< the boundary for which `after_` was computed
  std::vector<int32_t> needed_before_;
  std::vector<int32_t> needed_after_;
};

/// Computes the rows of each patch, and the columns of each of its tiles. A chain without columns
/// has patches of one tile, of one column.
class TileRanges {
 public:
  TileRanges(const Chain& chain, const Patching& patching);

  /// One entry per tensor. O(ops).
  void Rows(int32_t part, std::vector<PatchRows>& rows) { rows_.Rows(part, rows); }
  void Columns(int32_t tile, std::vector<PatchRows>& columns);

 private:
  size_t tensors_;
  PatchRanges rows_;
  std::optional<PatchRanges> columns_;
};

}  // namespace tenon::converter
