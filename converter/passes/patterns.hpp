// Recognises and replaces groups of ops; FuseActivation and FuseQuantized use these functions.
#pragma once

#include <string>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

// Recognises activation functions that a model expresses by several ops.

/// If the binary op `id` ends a pattern (FuseActivation in passes.hpp, 1 and 2), replaces it by the
/// unary op of that pattern, erases the rest of the pattern and returns true. Patterns whose inner
/// results have other readers are left, since those must be computed anyway.
bool TryRecogniseActivation(Graph& graph, OpId id);

// Moves quantize and dequantize ops past ops that only move or select elements, so that those work
// on bytes, and so that the quantize and dequantize ops meet what they can be fused with.

/// Repeats these changes until none applies:
///   - of several quantize ops with the same input and parameters only one is kept;
///   - m(dequantize(q)) becomes dequantize(m(q)), for reshape, transpose, slice, expand, gather,
///     copy, max_pool, resize to the nearest, maxima and minima along axes, pad with a value that
///     the quantization represents exactly, and concat of operands with equal quantization;
///   - quantize(m(x)) becomes m(quantize(x)) where nothing else reads m(x), for the same ops, and
///     concat of any operands;
///   - quantize(dequantize(q)) of equal parameters becomes q.
/// Reports what stays only if `log` is set. Returns the number of changes.
[[nodiscard]] Result<int> MoveQuantization(Graph& graph, bool log, PassReport& report);

// Makes quantized ops of convolutions and matrix products between dequantize and quantize ops.

/// Makes a quantized GEMM of the convolution or matrix product `id` (f32) if dequantize ops make
/// both its operands: x with one scale, the weights with one or one per output channel. The
/// multiplier is x_scale * w_scale / y_scale, and the bias is counted in units of x_scale *
/// w_scale.
///
/// A bias added after it, and relu, clip, maximum and minimum with a constant, are fused if a
/// quantize op follows. The output is what that op stores, or f32 where there is none or where the
/// result has another reader. A residual, and an activation that is not a clamp, become float ops
/// after it. Returns why not, or empty if it was done.
[[nodiscard]] Result<std::string> TryQuantizeGemm(Graph& graph, OpId id);

/// Converts weights of u8 with a zero point of 128 to i8 with 0: the values are equal, and fast
/// kernels need this form. `id`: a quantized convolution or matrix product. Returns whether it was
/// done.
[[nodiscard]] bool MakeWeightsSymmetric(Graph& graph, OpId id);

// Makes quantized ops of additions, averages and similar ops before quantize ops.

/// Makes one quantized op of the quantize op `id` and the op before it, which may be a sum,
/// difference, product, quotient, maximum or minimum of two tensors, an average pool, a sum or mean
/// along axes, a softmax, or a normalisation of rows by constants. Relu, clip, maximum and minimum
/// with a constant may be between, but not behind a normalisation.
/// Dequantize ops must make the operands (i8 or u8, one scale each). Returns why not, or empty if
/// it was done.
[[nodiscard]] Result<std::string> TryQuantizeResult(Graph& graph, OpId id);

// Fuses bounds and zero points into the op that stores the bytes.

/// If the quantize op `id` requantises one dequantize op's output at the same scale, with at most
/// relu, clip, maximum and minimum with a constant between, and no other reader: changes the op
/// that made the bytes so that it stores the final ones. Zero points must be equal, or differ by
/// the 128 between i8 and u8. That op is a quantized one or, if there are no bounds, a quantize op.
/// Returns whether it was done; the results are the same bit for bit.
[[nodiscard]] bool TryStoreOtherwise(Graph& graph, OpId id);

// Makes tables of elementwise functions of one quantized tensor.

/// If everything between the quantize op `id` and the dequantize ops before it computes each
/// element from one element of one tensor of i8 or u8 (and constants of one element), replaces it
/// by a lookup in a table of the results of the float ops, run by `fold`, for all 256 values. With
/// nothing between, the table changes scale and zero point. Returns why not: empty if it was done,
/// or `kNotElementwise` if it is something else.
[[nodiscard]] Result<std::string> TryMakeLookup(Graph& graph, OpId id, const ConstantFolder& fold);

inline constexpr const char* kNotElementwise = "not a function of one tensor";

}  // namespace tenon::converter
