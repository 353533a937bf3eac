// A chain: consecutive ops of a graph that are cut together along one dimension, so that a patch of
// the last one's output is made from patches of all the others (docs/methods.md, C4).
//
// Every tensor of a chain has an axis along which it is cut; its extent there is called rows,
// whatever the dimension is. A chain stores which rows of each tensor need which others, so that
// ranges, peaks and costs are computed without the graph. A chain by height may have the same ops
// by width beside it, so that patches are cut into tiles: there "rows" are columns.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "converter/ir/graph.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {

/// One operand of an op of a chain.
struct ChainInput {
  int32_t tensor = -1;  ///< index into Chain::tensors; -1: made outside the chain, or absent
  InputSplit need;      ///< with axis -1 the whole operand is needed, which then is made outside
};

struct ChainOp {
  OpId id = kNone;
  std::vector<ChainInput> inputs;  ///< one per input of the op
  int32_t output = -1;             ///< index into Chain::tensors
  int32_t granularity = 1;         ///< rows are made in multiples of this
  int64_t work = 0;                ///< multiply-accumulates and elementary ops of all rows
  uint32_t views = 0;              ///< inputs (bit mask) that share their bytes with the output
  uint32_t in_place = 0;           ///< inputs (bit mask) whose bytes the output may take over
  bool once = false;               ///< its rows come once and in order: none can be made again
};

struct ChainTensor {
  TensorId id = kNone;
  int32_t axis = 0;
  int32_t rows = 0;
  int64_t row_bytes = 0;
  int32_t producer = -1;         ///< index into Chain::ops
  int64_t last_use = 0;          ///< position in the graph's order; INT64_MAX for graph outputs
  std::vector<int32_t> readers;  ///< indices into Chain::ops, ascending
};

/// What a chain reads of its source, row by row, of which it is the last to read.
struct ChainSource {
  TensorId id = kNone;  ///< kNone: there is none
  int32_t rows = 0;
  int64_t row_bytes = 0;
  std::vector<std::pair<int32_t, InputSplit>> readers;  ///< indices into Chain::ops, ascending
};

struct Chain {
  SplitDimension dimension = SplitDimension::kHeight;
  int64_t first = 0;  ///< position of ops[0] in the graph's order; the others follow one by one
  std::vector<ChainOp> ops;
  std::vector<ChainTensor> tensors;  ///< what the ops make; one each, in their order
  /// The op after the last one, or kNone. It averages all rows of the last op's output, which no
  /// other op reads. Patches add their rows to its sums, so that no more rows than a patch's are
  /// ever stored.
  OpId accumulator = kNone;
  int64_t sum_bytes = 0;          ///< of the accumulator's sums
  DType sum_dtype = DType::kI32;  ///< of the sums
  /// The only exit may be written where rows of this have been read for the last time.
  ChainSource source;
  /// The same ops and tensors by width, in the same order; null: there are no tiles.
  std::shared_ptr<const Chain> columns;

  [[nodiscard]] int64_t end() const {
    return first + static_cast<int64_t>(ops.size()) + (accumulator == kNone ? 0 : 1);
  }
  /// Returns the chain of the first `count` ops only.
  [[nodiscard]] Chain Prefix(size_t count) const;
  /// Returns true if patches may make rows again that an earlier patch has made.
  [[nodiscard]] bool MayRecompute() const;
  /// Returns true if the tensor is read after the chain's end or is a graph output.
  [[nodiscard]] bool IsExit(size_t tensor) const { return tensors[tensor].last_use >= end(); }
  /// Returns true if the accumulator reads the tensor.
  [[nodiscard]] bool IsSummed(size_t tensor) const {
    return accumulator != kNone && tensor + 1 == tensors.size();
  }
  /// Returns the most rows of a tensor of which each patch makes its own share.
  [[nodiscard]] int32_t MostSharedRows() const;
  /// Returns true if each patch makes its own share of the tensor's rows.
  [[nodiscard]] bool IsShared(size_t tensor) const { return IsExit(tensor) || IsSummed(tensor); }
};

/// Says what happens to rows that a later patch needs again.
enum class PatchPolicy : uint8_t {
  kKeepRows,    ///< they are copied away, then into the next patch's buffer: least memory
  kKeepBuffer,  ///< the buffer stays until they have been copied into the next one: one copy less
  /// As kKeepRows, but what a pointwise op makes of rows of half its bytes or less is computed
  /// again from those, which are kept in its stead.
  kKeepNarrow,
  kRecompute,  ///< they are computed again: no state between patches
};
inline constexpr PatchPolicy kPatchPolicies[] = {PatchPolicy::kKeepBuffer, PatchPolicy::kKeepRows,
                                                 PatchPolicy::kKeepNarrow, PatchPolicy::kRecompute};

/// Returns true if rows that are kept are copied out of the buffer that they lie in.
[[nodiscard]] constexpr bool CopiesKeptRows(PatchPolicy policy) {
  return policy == PatchPolicy::kKeepRows || policy == PatchPolicy::kKeepNarrow;
}

/// What chains may be cut into.
enum class CutInto : uint8_t {
  kPatches,  ///< along one dimension
  kTiles,    ///< along height, and patches along width too
};

/// How a chain is cut.
struct Patching {
  int32_t parts = 1;
  PatchPolicy policy = PatchPolicy::kKeepRows;
  /// Of a chain with columns: tiles of a patch, from left to right, and what happens to columns
  /// that a later tile of the patch needs again. Rows that are kept are kept tile by tile.
  int32_t tiles = 1;
  PatchPolicy tile_policy = PatchPolicy::kRecompute;
  /// Patches that add one share of the exits together, where rows are kept: see StepsPerShare.
  int32_t steps = 1;

  /// Returns how the chain's columns are cut.
  [[nodiscard]] Patching Across() const { return {tiles, tile_policy}; }
};

[[nodiscard]] const char* Name(PatchPolicy policy);

}  // namespace tenon::converter
