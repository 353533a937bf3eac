// Normalisation of rows.
//
// Of bytes (i8 or u8) the numbers themselves are normalised, with scale and bias of f32, and y is
// rounded to the nearest byte, halves to even (NaN to the least). Neither a quantized x's zero
// point nor its scale changes (x - mean) / deviation, if epsilon is divided by the scale's square;
// y's become part of scale and bias. Without the mean (`rms`) the zero point counts, and must be 0:
// i8 only.
#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

using In = LayerNormInput;

/// Sums of a row's squares times its length fit 62 bits.
constexpr int32_t kMostBytes = 1 << 22;

Status CheckBytes(const OpCall& call) {
  const TensorView& x = call.Input(In::kX);
  for (const int i : {In::kScale, In::kBias}) {
    if (!call.HasInput(i)) continue;
    TENON_ENSURE(call.Input(i).dtype == DType::kF32, kInvalidArgument,
                 "input {0} of a normalisation of bytes must be f32", i);
  }
  TENON_ENSURE(x.rank < 1 || x.dims[x.rank - 1] <= kMostBytes, kInvalidArgument,
               "rows of bytes have at most {0} elements", kMostBytes);
  TENON_ENSURE(call.AttributesAs<LayerNormAttributes>().rms == 0 || x.dtype == DType::kI8,
               kInvalidArgument, "without the mean bytes must be i8");
  return OkStatus();
}

Status InferLayerNorm(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<LayerNormAttributes>();
  const Shape x = call.Input(In::kX).shape();
  const DType x_dtype = call.Input(In::kX).dtype;
  const bool is_bytes = x_dtype == DType::kI8 || x_dtype == DType::kU8;
  if (is_bytes) {
    TENON_RETURN_IF_ERROR(CheckBytes(call));
  } else {
    TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  }
  TENON_ENSURE(x.rank >= 1 && x[x.rank - 1] >= 1, kInvalidArgument, "there is no row to normalise");
  for (const int i : {In::kScale, In::kBias}) {
    if (!call.HasInput(i)) continue;
    const Shape parameter = call.Input(i).shape();
    TENON_ENSURE(parameter.rank == 1 && parameter[0] == x[x.rank - 1], kInvalidArgument,
                 "input {0} must have one element for each of the {1} of a row", i, x[x.rank - 1]);
  }
  TENON_ENSURE(std::isfinite(attributes.epsilon) && attributes.epsilon >= 0.0F, kInvalidArgument,
               "epsilon must be finite and not negative");
  TENON_ENSURE(IsFlag(attributes.rms), kInvalidArgument, "rms must be 0 or 1");
  return SetOutput(x_dtype, x, outputs);
}

}  // namespace

constexpr OpRow kLayerNormRow =
    MakeOpRow<LayerNormAttributes>(OpKind::kLayerNorm, /*min_inputs=*/2, /*max_inputs=*/3,
                                   InferLayerNorm, /*in_place_inputs=*/1U << 0);

}  // namespace tenon
