// Declares the passes: named changes of the graph that keep what it computes.
// converter/driver/pass_list.cpp defines the order in which they run.
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
//   - a transpose that only moves dimensions of size 1 becomes a reshape;
//   - a binary op reads what an expand repeats, where it repeats it alike by itself; a transpose
//     between the two goes before the expand.
// Requires:   nothing; ops are left alone where layouts differ.
// Guarantees: none of the above is left except what the report declines. Graph outputs keep storage
//             of their own: an identity from a graph input, a constant or another graph output
//             stays.
[[nodiscard]] Status Simplify(Graph& graph, PassContext& context);

/// Computes at conversion what depends on constants only.
///
/// Requires:   PassContext::fold.
/// Guarantees: no op reads constants only, except where the result would be much larger than what
///             it is made from (declined), of more than 1 MB, of products 16. The ops that made the
///             values stay (without readers) until dead code is eliminated.
[[nodiscard]] Status FoldConstants(Graph& graph, PassContext& context);

/// Does the same but keeps dequantize ops and what depends on them. It runs before it is decided
/// whether their readers work on the quantized values.
[[nodiscard]] Status FoldQuantizedConstants(Graph& graph, PassContext& context);

// Makes every graph output a tensor of its own that an op writes, so that it can be handed to the
// user: an output that is a graph input, a constant, or another output too, gets a copy.
//
// Requires:   nothing.
// Guarantees: outputs are distinct tensors with producers; names of ports unchanged.
[[nodiscard]] Status IsolateOutputs(Graph& graph, PassContext& context);

// Makes models of float16 compute in f32, which is at least as accurate as f16 arithmetic; only
// ports keep the model's dtype.
//
// Requires:   a graph as imported.
// Guarantees: no tensor is f16 except graph inputs and outputs, each with a cast next to it.
//             Roundings to f16 between ops are left out. Where weights of GEMMs were f16,
//             Graph::weights says so.
[[nodiscard]] Status ComputeInF32(Graph& graph, PassContext& context);

// Folds a pad of height and width into the windowed ops that read it.
//   conv:         constant pad of 0.
//   average_pool: constant pad of 0, where the pool counts padding anyway or has none of its own
//                 (the zeros count in the mean: count_include_pad is set).
//   max_pool:     constant pad of minus infinity, which is what its own padding is.
// Requires:   nothing.
// Guarantees: a pad is folded into all of its readers or into none; pads that are left are
//             declined.
[[nodiscard]] Status FoldPad(Graph& graph, PassContext& context);

// Makes a gather of the product of one-hot rows with a matrix: equal(indices, 0 .. depth - 1), made
// 1 and 0 by a cast or a select, times constants [depth, n], with or without a bias.
//
// Requires:   finite constants, not laid out yet.
// Guarantees: outputs are the same but for the sign of a zero; indices out of range still give rows
//             of zeros (and the bias). One-hot rows that others read too stay.
[[nodiscard]] Status FoldOneHot(Graph& graph, PassContext& context);

// Lets elementwise ops, moves and reductions between 1-D convolutions and pools work on the images
// [N, C, 1, W] (or [N, 1, W, C]) that those are imported with, not on rows of rank 3: reshapes then
// meet, and the ops meet the convolutions whose part they can become, or whose layout they take.
//
// Requires:   no layouts have been chosen. An operand is an image without its axis of 1, or only
//             windowed ops read a pad, as images.
// Guarantees: the same elements; reshapes that undo each other are left to Simplify.
[[nodiscard]] Status LiftRows(Graph& graph, PassContext& context);

// Takes from convolutions the outer rows and columns of taps that read padding alone: of a 3x3
// kernel on an image of 1x1, or one dilated further than its image is wide, the one in the middle
// stays.
//
// Requires:   constant weights that are not laid out yet.
// Guarantees: outputs are the same, but where such a weight is infinite or no number; weights that
//             others read too stay one copy.
[[nodiscard]] Status TrimKernels(Graph& graph, PassContext& context);

// Folds multiplication, division, addition and subtraction by a constant per output channel (or by
// one number) into the weights and bias of the conv or matmul before it:
//   y = g (w x + b) + h   ->   w'[m] = g[m] w[m];  b'[m] = g[m] b[m] + h[m].
// This removes an imported BatchNormalization, which is lowered to mul and add, and makes a bias
// that is added separately the op's bias.
// Requires:   the op before has no other reader, no activation and no residual; its bias, and where
//             g is not 1 its weights, are f32 constants.
// Guarantees: no such pair is left except what the report declines. An activation of the removed op
//             becomes the conv's or matmul's.
// Numerics:   g, h and the products are computed in f64 and stored in f32.
[[nodiscard]] Status FuseAffine(Graph& graph, PassContext& context);

// Makes one convolution of the sum of two that read the same x, or of one and of x times a constant
// plus a constant per channel (a batch norm): what networks are trained with in place of one
// convolution (RepVGG, MobileOne, RepGhost).
//   (w x + b) + (v x + c) -> (w + v) x + (b + c), where every tap of v is one of w.
// Requires:   linear convolutions with constants of f32 and no other reader; the weights of one
//             have a place for every weight of the other, so that no product is added. No batch
//             norm where weights will be stored in 8 bits.
// Guarantees: no such pair is left except what the report declines. The sum's activation becomes
//             the convolution's.
// Numerics:   weights are added in f64 and stored in f32.
[[nodiscard]] Status MergeBranches(Graph& graph, PassContext& context);

// Makes one op of what models write a normalisation of rows as: statistics of x along its last axis
// by means, differences and a square root, then a scale and a bias.
//   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) [* scale] [+ bias], or times a
//   reciprocal; x g + (bias - mean(x) g) with g = scale / sqrt(mean((x - mean(x))^2) + epsilon),
//   the mean negated and added instead, too; x / sqrt(mean(x^2) + epsilon) [* scale] [+ bias], the
//   form without a mean.
// Requires:   f32; scale and bias are constants with one element for each of a row.
// Guarantees: no such group is left. Inner results that others read are still computed.
// Numerics:   sums in another order.
[[nodiscard]] Status FuseLayerNorm(Graph& graph, PassContext& context);

// Does the same along the channels of images, between transposes that put these last and back.
// Requires:   as FuseLayerNorm; the form with a quotient, or with a product by a reciprocal.
// Guarantees: no such group is left. Inner results that others read are still computed.
// Numerics:   sums in another order.
[[nodiscard]] Status FuseChannelNorm(Graph& graph, PassContext& context);

// Lets products read their second factor as it is before a transpose of its last two dimensions.
// Requires:   nothing.
// Guarantees: no product reads such a transpose; one that others read too stays for them.
[[nodiscard]] Status FoldTransposes(Graph& graph, PassContext& context);

// Makes one op of softmax(scale * q k + mask) v: two products of computed factors with a softmax
// along the last axis between them. The scale, constant numbers that multiply scores, queries or
// keys, and the mask may be missing. A factor for each matrix of scores multiplies the queries
// then. Values that the product transposes are transposed for the op. Two constant masks become
// their sum, where that is of 4 MB at most.
// Requires:   f32; two queries or more; the scores and what becomes of them have no other reader;
//             batches are alike. PassContext::has_fast_kernel: portable code computes the scores,
//             which are kept nowhere, twice.
// Guarantees: no such group is left except what the report declines.
// Numerics:   the scale may be applied to the keys.
[[nodiscard]] Status FuseAttention(Graph& graph, PassContext& context);

// Makes a convolution whose windows cut the image into patches (the first layer of vision
// transformers) the product of the patches, each a row, with the weights.
// Requires:   one group; constant weights and bias of f32, no residual; windows of more than one
//             element that neither overlap nor leave out any, no padding.
//             PassContext::has_fast_kernel for the product, not for the convolution.
// Guarantees: no such convolution is left except what the report declines. Patches hold elements in
//             the image's own order. Bytes are moved before they become floats. What turned the
//             result to rows of channels meets a transpose that Simplify joins with it.
// Numerics:   sums in another order; a mean of the image is subtracted from the bias.
[[nodiscard]] Status PatchesToProducts(Graph& graph, PassContext& context);

// Makes one op of a product whose first factor is brought to u8 by its own range when it runs, as
// models with dynamic quantization have it: the range, its scale and zero point, the bytes, their
// product with constant bytes, and float(sum) * (scale * scale) [+ bias].
// Requires:   PassContext::has_fast_kernel: portable code would round each element several times.
// Guarantees: no such group is left except what the report declines. Inner results that others read
//             are still computed.
// Numerics:   the same bits, but where x holds a NaN.
[[nodiscard]] Status FuseDynamicProducts(Graph& graph, PassContext& context);

// Repeats the channels of bytes that a depthwise convolution with several outputs a channel (a
// depth multiplier) reads, so that it has one for each: kernels take such. Requires:
// PassContext::has_fast_kernel: of the new convolution, not of the old one. The repeated
//             input takes at most twice the output's memory.
// Guarantees: no such convolution is left.
// Numerics:   the same bits.
[[nodiscard]] Status RepeatChannels(Graph& graph, PassContext& context);

// Makes a product and a sum with constants of depthwise convolutions of one tap, as batch norms
// that stand behind an activation are stored: steps of one elementwise op then, not a pass of their
// own. Requires:   f32, constant weights and bias, no padding or strides; no residual.
//             PassContext::has_fast_kernel for elementwise ops on the same tensors.
// Guarantees: no such convolution is left.
// Numerics:   the same bits, where kernels do not fuse the product and the sum.
[[nodiscard]] Status ScaleChannels(Graph& graph, PassContext& context);

// Computes once what several ops compute of the same tensors in the same way, as exporters write
// the handling of indices for each op that takes them.
//
// Requires:   ops of one output; constants are the same where they are stored once, or small.
// Guarantees: no two such ops are left, but copies, and those whose results are both outputs.
[[nodiscard]] Status MergeEqualOps(Graph& graph, PassContext& context);

// Makes one op of the sum of squares along axes, x * x or x to the power of 2.
//
// Requires:   f32; nothing else reads the squares.
// Guarantees: no such sum is left, unless its op had a better kernel (declined).
// Numerics:   the same sums of the same squares.
[[nodiscard]] Status SumSquares(Graph& graph, PassContext& context);

// Multiplies by the reciprocals of constants instead of dividing by them, which takes several times
// as long.
//
// Requires:   f32; normal numbers with normal reciprocals. Powers of two; others where only
//             products with computed factors, squares, sums and softmax read the quotients.
// Guarantees: the same bits for powers of two. Others may differ in their last bit, which floors,
//             casts and comparisons would show.
[[nodiscard]] Status MultiplyByReciprocals(Graph& graph, PassContext& context);

// Makes one op, elementwise, of unary and binary ops that follow each other, each the only reader
// of the one before: one pass over memory instead of one for each. A binary op by itself becomes
// one, too, where its operand is a short row along one axis.
// Requires:   f32; every result has one shape, to which the other operands broadcast.
//             PassContext::has_fast_kernel, and no piece is better off alone.
//             An activation of a binary op that has a fast kernel alone becomes a step of its own.
// Guarantees: no two such ops follow each other except what the report declines, those beyond
//             kMostElementwiseSteps, and those that would keep several large operands waiting for
//             each other.
// Numerics:   the same bits, where the same kernels' formulas are used.
[[nodiscard]] Status FuseElementwise(Graph& graph, PassContext& context);

// Fuses elementwise functions into the op that computes their input.
//   1. max and min with a constant number become clip (relu where the bound is 0).
//   2. Products that express a function become that function:
//        x sigmoid(x) -> silu;  x hard_sigmoid(x) with a = 1/6, b = 1/2 and x clip(x + 3, 0, 6) / 6
//        -> hard_swish;  x (1 + erf(x / sqrt 2)) / 2 -> gelu.
//   3. A unary op after a conv, matmul or binary op becomes that op's activation.
// Requires:   float tensors; the op before has no activation and no other reader.
// Guarantees: none of these is left except what the report declines.
// Numerics:   constants of a pattern may differ from their exact values by 1e-4 of them, as models
//             store them rounded.
[[nodiscard]] Status FuseActivation(Graph& graph, PassContext& context);

// Makes the addition of another tensor to a conv's result the conv's residual input, with the
// addition's activation: act(conv(x) + r) -> conv(x, residual = r, activation = act). Where both
// operands are convs that qualify, the later one in the order takes the other as residual.
// Requires:   the conv's result has no other reader; the conv has no activation and no residual;
//             both operands have exactly the result's shape and dtype.
// Guarantees: no such pair is left except what the report declines. A conv that precedes the other
//             operand is moved to the addition's place. This creates no cycle, since only the
//             addition reads the conv.
[[nodiscard]] Status FuseResidual(Graph& graph, PassContext& context);

// Makes quantized ops of float ops between dequantize and quantize ops.

/// A quantized network expresses its arithmetic as groups of dequantize ops, a float op and a
/// quantize op. This pass makes one op of each group, so that all ops between the first quantize op
/// and the last dequantize op work on bytes (each case is a function of patterns.hpp):
///   - ops that only move elements work on bytes;
///   - convolutions and matrix products with their bias, relu and clip, also those whose result
///     stays float;
///   - sums, products, averages, softmax and the like;
///   - bounds and zero points become part of the op before, if it can apply them;
///   - functions of one tensor, and changes of scale and zero point, become tables.
/// Results are rounded half to even (Rounding::kHalfEven), as quantize ops of that rounding say.
/// The factors from a sum to its output are computed in f64 and stored as f32: occasionally a
/// result differs by one step from that of the float ops.
///
/// A dequantize op with several readers is folded into each reader that can work on bytes. Weights
/// must still be quantized: FoldQuantizedConstants, not FoldConstants, runs before this pass. If
/// float ops have been fused before (activations, residuals), residuals are separated again and the
/// product before a residual stays float. So a quantizer should insert its ops before fusion.
///
/// Declines, with the reason, quantize ops and GEMMs with a dequantized operand that it leaves.
Status FuseQuantized(Graph& graph, PassContext& context);

// Removes lookups that need not run.

/// Removes lookup ops whose work other ops can do at no cost:
///   - what is a function of one tensor of bytes through several such ops becomes one table;
///   - a table after a table is merged with it;
///   - a table that only moves every value by the same amount (from u8 to i8: 128 less) becomes
///     another zero point of the op that makes its input, where nobody else reads that, or of all
///     the ops that read its output.
/// Nothing is rounded differently: results keep their bits.
Status FoldLookups(Graph& graph, PassContext& context);

// Moves the zero point of a GEMM's input from run time to conversion: for a constant matrix or
// filter, what it adds to each output's sum is known in advance.
//
// Requires:   integer ops fused; weights row-major, as importers leave them; nothing split yet, so
//             that parts share the new constants.
// Guarantees: no result changes by a bit. Without padding, the zero point is removed and the bias
//             includes it. Where padding reads as the zero point, both stay, and the bias that
//             includes the zero point becomes input 7.

/// Ops for which PassContext::wants_folded_bias is false are left as they are.
[[nodiscard]] Status FoldZeroPoints(Graph& graph, PassContext& context);

// Lets what a plan keeps from run to run lie untouched until the end of a run: the input of a state
// becomes an output too, which plans do not have as a port.
//
// Requires:   every output is a tensor of its own that an op makes (IsolateOutputs).
// Guarantees: no op's result takes the bytes of a state.
[[nodiscard]] Status KeepStates(Graph& graph, PassContext& context);

// Brings functions of one element, and those with a constant per channel, from behind moves of
// elements to before them, where they can become part of the convolution whose result is moved: a
// batch norm and an activation behind a transposed convolution or depth to space.
//
// Requires:   f32; each of the moves has no other reader; the convolution has no activation and no
//             residual.
// Guarantees: results are the same bits.
[[nodiscard]] Status FunctionsBeforeMoves(Graph& graph, PassContext& context);

// Lets a convolution compute its channels in the order in which a move that alone reads them
// (image_moves.hpp) leaves them in an image that lies channels last: the phases of a transposed
// convolution phase by phase, so that whole rows of channels are moved, not single elements.
//
// Requires:   constant weights and bias of f32, no residual; a channel may not leave its group.
//             PassContext::has_fast_kernel for the convolution.
// Guarantees: results are the same bits.
[[nodiscard]] Status OrderChannels(Graph& graph, PassContext& context);

// Splits a convolution that computes all phases of a transposed one, and more than is kept of them,
// into one for each phase: with the taps that this phase has, and the outputs that are kept. Those
// of a transposed depthwise convolution are depthwise, with one output a channel.
//
// Requires:   phases of whole vectors of channels; constant weights and bias of f32, no residual,
//             one group or as many as channels. PassContext::has_fast_kernel for it.
// Guarantees: nothing is left but convolutions joined as channels, and their move.
[[nodiscard]] Status SplitPhases(Graph& graph, PassContext& context);

// Rewrites moves of images (image_moves.hpp), among them channel shuffles (Zhang et al.,
// "ShuffleNet", 2018, section 3.1), where images are channels last: reshape, transpose and reshape
// written on [N, H, W, C].
//
// Requires:   of floats, PassContext::has_fast_kernel for the convolution or pool that they come
//             from: where memory is short, moves as the model has them can be split. Of bytes,
//             shuffles alone.
// Guarantees: the same elements at the same places. In channels-last layout, transposes to and from
//             [N, H, W, C] are views, so one copy of three is left. Images that will not lie
//             channels last are left alone.
[[nodiscard]] Status MoveChannelsLast(Graph& graph, PassContext& context);

}  // namespace tenon::converter
