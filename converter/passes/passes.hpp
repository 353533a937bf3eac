// The passes: changes of the graph, each under a name, that keep what it computes. The order in
// which they run stands in converter/driver/pass_list.cpp.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

// Removes what nobody reads: ops whose results are unused, constants, orphan tensors.
// Requires:   nothing.
// Guarantees: every op contributes to a graph output; every constant is read. Graph inputs stay,
//             read or not: users feed them by name.
[[nodiscard]] Status EliminateDeadCode(Graph& graph, PassContext& context);

// Removes ops that do nothing and joins consecutive ops that only move data:
//   - identity unary, copy (same layout, not mapped), cast to the same dtype, reshape and expand to
//     the same shape, identity transpose, slice of everything, pad by nothing, concat of one;
//   - reshape of reshape, transpose of transpose (cancelled where they undo each other), constant
//     pad of constant pad of the same value;
//   - a transpose that only moves dimensions of size 1 becomes a reshape.
// Requires:   nothing; ops are left alone where layouts differ.
// Guarantees: none of the above is left but what the report declines. Graph outputs keep storage of
//             their own: an identity from a graph input, a constant or another graph output stays.
[[nodiscard]] Status Simplify(Graph& graph, PassContext& context);

/// Computes at conversion what depends on constants only.
///
/// Requires:   PassContext::fold.
/// Guarantees: no op reads constants only, except where the result would be much larger than what
///             it is made from (declined). The ops that made the values stay (without readers)
///             until dead code is eliminated.
[[nodiscard]] Status FoldConstants(Graph& graph, PassContext& context);

/// The same, but dequantize ops and what depends on them stay: for while it is still open whether
/// the ops that read them take the quantized values.
[[nodiscard]] Status FoldQuantizedConstants(Graph& graph, PassContext& context);

// Makes every graph output a tensor of its own that an op writes, so that it can be handed to the
// user: an output that is a graph input, a constant, or another output too, gets a copy.
//
// Requires:   nothing.
// Guarantees: outputs are distinct tensors with producers; names of ports unchanged.
[[nodiscard]] Status IsolateOutputs(Graph& graph, PassContext& context);

// Models of float16: the arithmetic is done in f32, which no result of f16 arithmetic is better
// than, and only ports keep the model's dtype.
//
// Requires:   a graph as imported.
// Guarantees: no tensor is f16 but graph inputs and outputs, each beside its cast. Roundings to f16
//             between ops are left out. Where weights of GEMMs were f16, Graph::weights says so.
[[nodiscard]] Status ComputeInF32(Graph& graph, PassContext& context);

// Folds a pad of height and width into the windowed ops that read it.
//   conv:         constant pad of 0.
//   average_pool: constant pad of 0, where the pool counts padding anyway or has none of its own
//                 (the zeros count in the mean: count_include_pad is set).
//   max_pool:     constant pad of minus infinity, which is what its own padding is.
// Requires:   nothing.
// Guarantees: a pad is folded into all of its readers or into none; what is left is declined.
[[nodiscard]] Status FoldPad(Graph& graph, PassContext& context);

// Folds multiplication, division, addition and subtraction by a constant per output channel (or by
// one number) into the weights and bias of the conv or matmul before it:
//   y = g (w x + b) + h   ->   w'[m] = g[m] w[m];  b'[m] = g[m] b[m] + h[m].
// That is how an imported BatchNormalization, lowered to mul and add, disappears, and how a bias
// added on its own becomes the op's bias.
// Requires:   the op before has this one reader, no activation and no residual; its bias, and where
//             g is not 1 its weights, are f32 constants.
// Guarantees: no such pair is left but what the report declines. An activation of the removed op
//             becomes the conv's or matmul's.
// Numerics:   g, h and the products are computed in f64 and stored in f32.
[[nodiscard]] Status FuseAffine(Graph& graph, PassContext& context);

// Fuses elementwise functions into the op that computes their input.
//   1. max and min with a constant number become clip (relu where the bound is 0).
//   2. Products that spell out a function become that function:
//        x sigmoid(x) -> silu;  x hard_sigmoid(x) with a = 1/6, b = 1/2 and x clip(x + 3, 0, 6) / 6
//        -> hard_swish;  x (1 + erf(x / sqrt 2)) / 2 -> gelu.
//   3. A unary op after a conv, matmul or binary op becomes that op's activation.
// Requires:   floats; the op before has no activation and this one reader.
// Guarantees: none of these is left but what the report declines.
// Numerics:   constants of a pattern may differ from their exact values by 1e-4 of them, as models
//             store them rounded.
[[nodiscard]] Status FuseActivation(Graph& graph, PassContext& context);

// Makes the addition of another tensor to a conv's result the conv's residual input, with the
// addition's activation:  act(conv(x) + r)  ->  conv(x, residual = r, activation = act).
// Where both operands are convs that qualify, the one later in the order takes the other.
// Requires:   the conv's result has this one reader; the conv has no activation and no residual;
//             both operands have exactly the result's shape and dtype.
// Guarantees: no such pair is left but what the report declines. A conv that stands before the
//             other operand is moved behind it, to the place of the addition, which no cycle can
//             prevent, since the addition alone reads it.
[[nodiscard]] Status FuseResidual(Graph& graph, PassContext& context);

// Makes quantized ops of float ops between dequantize and quantize ops.

/// A network that was quantized spells its arithmetic out: dequantize ops, a float op, a quantize
/// op. This pass makes one op of each such group, so that what lies between the first quantize op
/// and the last dequantize op works on bytes (each case is a function of patterns.hpp):
///   - what only moves elements works on bytes;
///   - convolutions and matrix products with their bias, relu and clip, also those whose result
///     stays float;
///   - sums, products, averages, softmax and the like;
///   - bounds and zero points that the op before can store by itself;
///   - functions of one tensor, and changes of scale and zero point, are tables.
/// Results are rounded half to even (Rounding::kHalfEven), as quantize ops of that rounding say.
/// The factors from a sum to its output are computed in f64 and stored as f32: now and then a
/// result is one step from what the float ops give.
///
/// A dequantize op with several readers is folded into each that takes it. Needs weights that are
/// still quantized: FoldQuantizedConstants, not FoldConstants, runs before it. Graphs may have been
/// fused as float graphs are (activations, residuals): residuals come apart again, and the product
/// before a residual then stays float, so a quantizer should mark graphs before they are fused.
///
/// Declines, with the reason, quantize ops and GEMMs with a dequantized operand that it leaves.
Status FuseQuantized(Graph& graph, PassContext& context);

// Lookups that need not run.

/// Takes out lookup ops whose work others can do for nothing:
///   - a table behind a table becomes one;
///   - a table that only moves every value by the same amount (from u8 to i8: 128 less) becomes
///     another zero point of the op that makes its input, where nobody else reads that, or of all
///     the ops that read its output.
/// Nothing is rounded differently: results keep their bits.
Status FoldLookups(Graph& graph, PassContext& context);

// Takes the zero point of a GEMM's input out of the device's work: what it adds to each output's
// sum is known before, for a constant matrix or filter.
//
// Requires:   integer ops fused; weights row-major, as importers leave them; nothing split yet, so
//             that parts share the new constants.
// Guarantees: no result changes by a bit. Where nothing is padded, the zero point is gone and the
//             bias has taken it in. Where padding reads as the zero point, both stay, and the bias
//             with the zero point in it stands beside them as input 7.

/// Ops for which PassContext::wants_folded_bias is false are left as they are.
[[nodiscard]] Status FoldZeroPoints(Graph& graph, PassContext& context);

// Channel shuffles of bytes (Zhang et al., "ShuffleNet", 2018, section 3.1) where images are
// channels-last: reshape to groups, transpose, reshape back, written on [N, H, W, C].
//
// Requires:   moves on bytes (FuseQuantized).
// Guarantees: the same elements at the same places. Seen as channels-last, transposes to and from
//             [N, H, W, C] are views, so one copy is left of three.
[[nodiscard]] Status ShuffleChannels(Graph& graph, PassContext& context);

}  // namespace tenon::converter
