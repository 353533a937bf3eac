// Bounds working sets by splitting ops (docs/methods.md, C2, C3). An op's working set is the bytes
// that it touches while it runs; they must fit the memory that it runs from. The arena's peak is
// another limit.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::converter {

/// The bytes that one op touches. A tensor that it reads twice counts once.
struct WorkingSet {
  int64_t inputs = 0;   ///< activations
  int64_t weights = 0;  ///< constants, if they are copied to the memory that the op runs from
  int64_t outputs = 0;
  int64_t workspace = 0;  ///< of the kernel, once chosen

  [[nodiscard]] int64_t total() const { return inputs + weights + outputs + workspace; }
};

/// The memory that an op runs from.
struct WorkingSpace {
  std::string name;
  int64_t bytes = std::numeric_limits<int64_t>::max();
  /// True: constants are copied there before an op runs, and count. False: ops read them in place.
  bool stages_constants = false;
};

struct WorkingSetLimit {
  /// Returns the space of the unit that the op is mapped to. It is asked again for every part,
  /// which may be mapped to another unit.
  std::function<WorkingSpace(const Graph& graph, const Op& op)> space_of;
  SplittingLimits splitting;
  /// Sums over input channels may be cut, which changes the order in which they are rounded.
  bool accumulate = true;
};

/// Limits ops to the usable bytes of the spaces that they run from on the units that they are
/// mapped to. The options, with their board, must outlive the result.
[[nodiscard]] WorkingSetLimit WorkingSetLimitOf(const KernelChoiceOptions& kernels);

/// Returns the limit with every space's bytes reduced to `eighths` of eight.
[[nodiscard]] WorkingSetLimit ShareOf(const WorkingSetLimit& limit, int64_t eighths);

/// Returns the same limit for every op.
[[nodiscard]] WorkingSetLimit UniformLimit(int64_t bytes, bool stages_constants);

/// Returns false for slice, concat, reshape, expand and copy: as views they touch no bytes, and as
/// copies they may move bytes in pieces of any size.
[[nodiscard]] bool HasWorkingSet(OpKind kind);

[[nodiscard]] WorkingSet WorkingSetOf(const Graph& graph, const Op& op, bool counts_constants);

/// One dimension of one op that was split.
struct SplitRecord {
  std::string op;
  std::string dimension;  ///< "batch", "channel", "input_channel", "height", "width", "other"
  int32_t parts = 0;
  int64_t bytes_before = 0;  ///< working set of the whole op
  int64_t bytes_after = 0;   ///< the largest of its parts, cut along all its records' dimensions
  int64_t limit = 0;
  std::string reason;  ///< one sentence, with the bytes
};

struct SplitReport {
  std::vector<SplitRecord> splits;
  int64_t ops_split = 0;
  int64_t parts = 0;  ///< ops that replaced them
};

/// Splits ops until each one's working set is within its limit. An op is cut along the batch if
/// that is enough, else along the first dimension of its split row that is, by the fewest parts
/// that fit (WorkingSetGrid::Find says when a much cheaper grid goes before). Sums over input
/// channels are cut where nothing exact is nearly as cheap. Results stay bit-equal, but for such
/// sums. Deterministic.
///
/// Errors (kDoesNotFit): no split that the board allows makes some op fit. The message names the op
/// that needs most, its bytes, the limit, and the smallest limit that would do for the whole graph.
/// The graph then stays unchanged.
[[nodiscard]] Status SplitToWorkingSet(Graph& graph, const WorkingSetLimit& limit,
                                       SplitReport& report);

/// Returns the smallest limit in bytes, the same for every op, under which SplitToWorkingSet
/// succeeds. Everything in `limit` except its bytes applies.
[[nodiscard]] int64_t SmallestWorkingSet(const Graph& graph, const WorkingSetLimit& limit);

}  // namespace tenon::converter
