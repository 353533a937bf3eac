// Replaces one op by several of its kind that make its output in parts (docs/methods.md, C2, C3).
//
// The parts read slices of the inputs, and one concat joins what they make; both are views where
// the kernels take strided tensors. The order stays topological, and parts follow each other.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/split/part_of_op.hpp"

namespace tenon::converter {

/// Cuts an op along `axis` of its output: parts are called NAME/part_1, NAME/part_2, ... The result
/// keeps the output's name and is bit-equal to the whole op's, given kernels whose arithmetic does
/// not depend on the extents. Returns the parts; the op alone where `ranges` is one. `ranges`
/// follow each other from 0 to the extent, with boundaries as `FindCut` asks. Errors: kInternal if
/// the op cannot be cut so.
[[nodiscard]] Result<std::vector<OpId>> SplitOp(Graph& graph, OperandCutter& cutter, OpId op,
                                                int32_t axis,
                                                const std::vector<IndexRange>& ranges);
/// Cuts the op into `parts` equal ranges.
[[nodiscard]] Result<std::vector<OpId>> SplitOp(Graph& graph, OpId op, int32_t axis, int32_t parts);

/// Returns the number of input channels that SplitInputChannels can divide among parts: those of a
/// convolution of one group, the inner dimension of a matrix product; else 0.
[[nodiscard]] int32_t InputChannels(const Graph& graph, const Op& op);

/// The axes of the input channels in a convolution's or matrix product's first two inputs.
struct InputChannelAxes {
  int32_t x;
  int32_t w;
};
[[nodiscard]] InputChannelAxes InputChannelAxesOf(const Graph& graph, const Op& op);

/// Returns true for a matrix product of several rows: see SplitInputChannels.
[[nodiscard]] bool AddsMatMulsApart(const Graph& graph, const Op& op);

/// Cuts the sum over the input channels: every part adds its share to what the one before it made,
/// the first adds bias and residual, the last applies the activation. Sums are rounded in another
/// order than the whole op's: equal within rounding only.
///
/// The sum so far is the residual of a convolution's part. A matrix product takes it as its bias
/// where it has one row; else products are added by binary ops, since few kernels take a bias that
/// differs from row to row.
/// `ranges` of input channels follow each other. Returns the convolutions or matrix products.
[[nodiscard]] Result<std::vector<OpId>> SplitInputChannels(Graph& graph, OperandCutter& cutter,
                                                           OpId op,
                                                           const std::vector<IndexRange>& ranges);
[[nodiscard]] Result<std::vector<OpId>> SplitInputChannels(Graph& graph, OpId op, int32_t parts);

}  // namespace tenon::converter
