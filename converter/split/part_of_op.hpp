// Makes one part of an op: the ranges of its operands that it needs, its attributes, and the
// operands themselves, cut out of the whole ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "converter/ir/graph.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {

/// How one op can be cut along one axis of its output.
struct OpCut {
  int32_t axis = 0;
  int32_t extent = 0;       ///< of the output along the axis
  int32_t granularity = 1;  ///< boundaries are multiples of it, or the extent
  std::vector<InputSplit> inputs;
};

/// Returns none if there is no such axis or the op's split row refuses it.
[[nodiscard]] std::optional<OpCut> FindCut(const Graph& graph, const Op& op, int32_t axis);

/// Divides [0, extent) into at most `parts` pieces, of equal length except the last, with
/// boundaries that are multiples of `granularity`. `parts` and `granularity` >= 1.
[[nodiscard]] std::vector<IndexRange> EqualRanges(int32_t extent, int32_t granularity,
                                                  int32_t parts);

/// Returns the attributes of the op that makes `out` from the ranges that InputRange returns.
[[nodiscard]] Attributes AttributesOfPart(const Graph& graph, const Op& op, int32_t axis,
                                          const IndexRange& out);

/// Cuts operands. Constants are cut immediately; equal cuts of one constant are made once and
/// shared. Other tensors get a slice op; a slice of a slice reads the original tensor directly.
class OperandCutter {
 public:
  explicit OperandCutter(Graph& graph) : graph_(graph) {}

  /// Returns the elements `range` of the tensor along `axis`, or the tensor itself if that is all
  /// of it. A new slice op is called `name` and inserted just before `position`.
  Result<TensorId> Cut(TensorId tensor, int32_t axis, const IndexRange& range,
                       std::string_view name, OpId position);

  /// Removes the constant or slice if nothing reads it any more.
  void DropUnread(TensorId tensor);

 private:
  TensorId CutConstant(TensorId tensor, int32_t axis, const IndexRange& range);

  Graph& graph_;
  std::map<std::tuple<TensorId, int32_t, int32_t, int32_t>, TensorId> constants_;
};

/// Adds the op that makes `out` of the op's output along the cut, called `name`, just before
/// `position`, with slices of its inputs where it does not need all. Returns the new op.
Result<OpId> AddPart(Graph& graph, OperandCutter& cutter, OpId op, const OpCut& cut,
                     const IndexRange& out, std::string_view name, OpId position);

}  // namespace tenon::converter
