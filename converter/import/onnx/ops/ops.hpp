// The operators that can be imported, by family: each file has the lowerings of some, and says in a
// table which operators they serve. Differences between versions of an operator are dealt with
// inside.
#pragma once

#include <array>
#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

extern const Span<const LoweringRow> kFunctionLowerings;
extern const Span<const LoweringRow> kConstantLowerings;
extern const Span<const LoweringRow> kConvLowerings;
extern const Span<const LoweringRow> kElementwiseLowerings;
extern const Span<const LoweringRow> kMatMulLowerings;
extern const Span<const LoweringRow> kNormalisationLowerings;
extern const Span<const LoweringRow> kPoolLowerings;
extern const Span<const LoweringRow> kQuantizationLowerings;
extern const Span<const LoweringRow> kQuantizedLowerings;
extern const Span<const LoweringRow> kQuantizedGemmLowerings;
extern const Span<const LoweringRow> kReduceLowerings;
extern const Span<const LoweringRow> kResizeLowerings;
extern const Span<const LoweringRow> kShapeLowerings;
extern const Span<const LoweringRow> kSlicingLowerings;
extern const Span<const LoweringRow> kIndexingLowerings;
extern const Span<const LoweringRow> kLossLowerings;
extern const Span<const LoweringRow> kMaskLowerings;
extern const Span<const LoweringRow> kConvTransposeLowerings;
extern const Span<const LoweringRow> kEinsumLowerings;
extern const Span<const LoweringRow> kSignalLowerings;
extern const Span<const LoweringRow> kScatterLowerings;
extern const Span<const LoweringRow> kSelectionLowerings;
extern const Span<const LoweringRow> kSequenceLowerings;
extern const Span<const LoweringRow> kGridSampleLowerings;
extern const Span<const LoweringRow> kTrigonometryLowerings;
extern const Span<const LoweringRow> kRecurrentLowerings;
extern const Span<const LoweringRow> kControlFlowLowerings;
extern const Span<const LoweringRow> kFusedFunctionLowerings;
extern const Span<const LoweringRow> kFusedProductLowerings;
extern const Span<const LoweringRow> kFusedNormalisationLowerings;
extern const Span<const LoweringRow> kAttentionLowerings;
extern const Span<const LoweringRow> kStandardAttentionLowerings;

/// A row for each of `operators`, which have an `op_type`, maybe `limits`, and are all lowered by
/// one function; then the `others`.
template <typename Operator, size_t N, size_t M>
[[nodiscard]] constexpr std::array<LoweringRow, N + M> RowsOf(const Operator (&operators)[N],
                                                              LoweringFunction lower,
                                                              const LoweringRow (&others)[M]) {
  std::array<LoweringRow, N + M> rows{};
  for (size_t i = 0; i < N; ++i) {
    rows[i] = {operators[i].op_type, lower};
    if constexpr (requires { operators[i].limits; }) rows[i].limits = operators[i].limits;
  }
  for (size_t i = 0; i < M; ++i) rows[N + i] = others[i];
  return rows;
}

/// The same as a table.
template <size_t N>
[[nodiscard]] constexpr Span<const LoweringRow> TableOf(const std::array<LoweringRow, N>& rows) {
  return {rows.data(), N};
}

// What the lowerings of matrix products share.

/// Of these, of convolutions and of average pools.
inline constexpr std::string_view kProductLimits = "f32 and f16";

/// NumPy's matmul of the first two inputs with `kind` (matmul or quantized_matmul, untransposed): a
/// vector on the left is a row, on the right a column, and the dimension that this adds is dropped
/// from the result. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitMatMul(Lowering& node, OpKind kind, std::vector<TensorId> inputs,
                                          const Attributes& attributes, int output = kIntermediate);

/// a b + input `bias` (f32; may be absent) of the node, as its first output.
[[nodiscard]] Status EmitMatMulWithBias(Lowering& node, TensorId a, TensorId b, int bias);

/// x * factor: a new constant where x is one, else a product.
[[nodiscard]] Result<TensorId> Scaled(Lowering& node, TensorId x, double factor);

/// A B + C of matrices that may be transposed, with factors for both terms, as Gemm's attributes
/// and inputs say. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitGemm(Lowering& node, int output = kIntermediate);

// What operators that end in an activation share.

/// The function that the attribute `activation` names; the identity where there is none. Its
/// parameters are the numbers of `activation_params`, or called `activation_alpha` and the like.
[[nodiscard]] Result<UnaryAttributes> ReadActivation(Lowering& node);

// Softmax as its versions have it, for the operators that contain one.

/// Softmax, or its logarithm, of `x` along the node's attribute `axis`. With `flattens`, as before
/// opset 13, x is seen as a matrix: the dimensions before `axis` (default 1) are rows, all others
/// together are columns. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitSoftmax(Lowering& node, TensorId x, bool flattens, bool log,
                                           int output = kIntermediate);

}  // namespace tenon::converter
