// Groups of ops that passes recognise and replace: what FuseActivation and FuseQuantized are made
// of.
#pragma once

#include <string>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

// Recognises activation functions that a model spells out in several ops.

/// If the binary op `id` ends a pattern (FuseActivation in passes.hpp, 1 and 2), makes it the unary
/// op that the pattern means, erases the rest of the pattern and returns true. Patterns whose inner
/// results have other readers are left: those would have to be computed anyway.
bool TryRecogniseActivation(Graph& graph, OpId id);

// Moves quantize and dequantize ops past ops that only move or select elements, so that those work
// on bytes, and so that the quantize and dequantize ops meet what they can be fused with.

/// Until nothing changes:
///   - of quantize ops with the same input and the same parameters one is kept;
///   - m(dequantize(q)) becomes dequantize(m(q)), for reshape, transpose, slice, expand, gather,
///     copy, max_pool, resize to the nearest, maxima and minima along axes, pad with a value that
///     the quantization has exactly, and concat of operands quantized alike;
///   - quantize(m(x)) becomes m(quantize(x)) where nothing else reads m(x), for the same ops, and
///     concat of anything;
///   - quantize(dequantize(q)) of equal parameters becomes q.
/// What stays is logged only if `log` is set. Returns the number of changes.
[[nodiscard]] Result<int> MoveQuantization(Graph& graph, bool log, PassReport& report);

// Convolutions and matrix products between dequantize and quantize ops.

/// Makes a quantized GEMM of the convolution or matrix product `id` (f32) if dequantize ops make
/// both its operands: x with one scale, the weights with one or one per output channel. The
/// multiplier is x_scale * w_scale / y_scale, and the bias is counted in units of x_scale *
/// w_scale.
///
/// A bias added behind it, and relu, clip, maximum and minimum with a constant, are taken in if a
/// quantize op follows. The output is what that stores, or f32 where there is none or something
/// else reads the result, too. A residual, and an activation that does not only bound, become float
/// ops behind it.
/// Returns why not, or empty if it was done.
[[nodiscard]] Result<std::string> TryQuantizeGemm(Graph& graph, OpId id);

/// Weights of u8 with a zero point of 128 become i8 with 0, which is the same and what fast kernels
/// take. `id`: a quantized convolution or matrix product. Returns whether it was done.
[[nodiscard]] bool MakeWeightsSymmetric(Graph& graph, OpId id);

// What quantize ops store of additions, averages and the like.

/// Makes one quantized op of what the quantize op `id` stores if that is, with relu, clip, maximum
/// and minimum with a constant behind it: a sum, difference, product, quotient, maximum or minimum
/// of two tensors, an average pool, a sum or mean along axes, or a softmax, dequantize ops making
/// the operands (i8 or u8, one scale each).
/// Returns why not, or empty if it was done.
[[nodiscard]] Result<std::string> TryQuantizeResult(Graph& graph, OpId id);

// Changes of what an op stores that the op can make itself.

/// If the quantize op `id` stores again what one dequantize op gives, bounded by relu, clip,
/// maximum and minimum with a constant at most, at the same scale, and nothing else reads that:
/// lets the op that made the bytes store them so. Zero points must be equal, or differ by the 128
/// between i8 and u8. That op is a quantized one or, if there are no bounds, a quantize op. Returns
/// whether it was done; the results are the same bit for bit.
[[nodiscard]] bool TryStoreOtherwise(Graph& graph, OpId id);

// Functions of one quantized tensor, element by element, as tables.

/// If everything between the quantize op `id` and the dequantize ops before it computes each
/// element from one element of one tensor of i8 or u8 (and constants of one element), makes that a
/// lookup in a table: what the float ops, run by `fold`, give for all 256 values. With
/// nothing between, the table changes scale and zero point.
/// Returns why not: empty if it was done, or `kNotElementwise` if it is something else.
[[nodiscard]] Result<std::string> TryMakeLookup(Graph& graph, OpId id, const ConstantFolder& fold);

inline constexpr const char* kNotElementwise = "not a function of one tensor";

}  // namespace tenon::converter
