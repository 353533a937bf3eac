// Every op's host row, and what the rows are made of: the work and the splitting of families of
// ops.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon {

#define TENON_OP(Kind, name, number) extern const OpHostRow k##Kind##HostRow;
#include "runtime/ops/ops.inc"

// --- work -------------------------------------------------------------------------------------
// Elementary ops per element, as design figures for a vector unit count them: plain arithmetic 1,
// functions that need a series or a table 4.
inline constexpr int64_t kPlainCost = 1;
inline constexpr int64_t kActivationCost = 4;
/// Of an element of a softmax.
inline constexpr int64_t kSoftmaxCost = 8;

[[nodiscard]] int64_t FunctionCost(UnaryFunction function);

/// Of an activation that an op applies to its result; none costs nothing.
[[nodiscard]] int64_t FusedCost(const Activation& activation);

/// `per_element` elementary ops for each element of the output.
[[nodiscard]] OpWork PerOutputWork(const OpCall& call, int64_t per_element);

/// One elementary op for each element of the output, moves too: a unit that takes an element at a
/// time is busy with each.
[[nodiscard]] OpWork MoveWork(const OpCall& call);

/// The same for an op that reads of input 0 only as much as it writes (slice, pad, gather).
[[nodiscard]] OpWork SelectedWork(const OpCall& call);

/// One elementary op for each element of the input (pooling, reductions).
[[nodiscard]] OpWork PerInputWork(const OpCall& call);

/// `multiply_accumulates`, and `per_element` ops on the way out.
[[nodiscard]] OpWork GemmWork(const OpCall& call, int64_t multiply_accumulates,
                              int64_t per_element);

// --- splitting --------------------------------------------------------------------------------

/// Batch parts need nothing of each other and lie in one piece; channel parts need no halo; rows
/// lie in longer runs than columns.
inline constexpr SplitDimension kImageAxes[] = {SplitDimension::kBatch, SplitDimension::kChannel,
                                                SplitDimension::kHeight, SplitDimension::kWidth};
/// The same, then whatever further dimension a tensor of higher rank has.
inline constexpr SplitDimension kEveryAxis[] = {SplitDimension::kBatch, SplitDimension::kChannel,
                                                SplitDimension::kHeight, SplitDimension::kWidth,
                                                SplitDimension::kOther};

/// Element i of the output needs element i of the input.
[[nodiscard]] constexpr InputSplit Along(int32_t axis) { return {axis, 1, 1, 0, 1}; }
[[nodiscard]] constexpr InputSplit Whole() { return {-1, 1, 1, 0, 1}; }

/// Groups of `outputs` output indices that need groups of `inputs` input indices; exact where
/// boundaries are multiples of `outputs`. Both >= 1.
[[nodiscard]] constexpr InputSplit InGroups(int32_t axis, int32_t inputs, int32_t outputs) {
  return {axis, inputs, outputs, 0, (inputs + outputs - 1) / outputs};
}

[[nodiscard]] inline bool IsAxisOf(const TensorView& tensor, int32_t axis) {
  return axis >= 0 && axis < tensor.rank;
}

/// Of an operand that broadcasts to the output: cut along the same axis, or whole where it has
/// one element there.
[[nodiscard]] InputSplit BroadcastInput(const OpCall& call, int input, int32_t axis);

/// Of a vector with one element for all or one for each: cut where axis 0 is.
[[nodiscard]] InputSplit OneOrEach(const OpCall& call, int input);

/// The indices that `out` needs before they are clipped to the input.
struct NeededRange {
  int64_t begin;
  int64_t end;
};
[[nodiscard]] NeededRange Needed(const InputSplit& split, const IndexRange& out);

/// Which axis of the output is N, C, H or W, by its rank.
[[nodiscard]] int32_t ImageAxis(const OpCall& call, SplitDimension dimension);

/// Elementwise ops with NumPy broadcasting.
[[nodiscard]] bool BroadcastSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                                  int32_t* granularity);

/// A quantized GEMM without what only it has: x and weights, that the float GEMM splits. The
/// other `inputs` are needed whole until somebody says more.
[[nodiscard]] OpCall FactorsOnly(const OpCall& call, InputSplit* inputs);

/// Bias, multiplier, shift and zero points of the weights of a quantized GEMM, cut along the
/// output's channels.
void SplitGemmChannels(const OpCall& call, InputSplit* inputs);

}  // namespace tenon
