// Normalisation of rows.
#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

using In = LayerNormInput;

Status InferLayerNorm(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<LayerNormAttributes>();
  const Shape x = call.Input(In::kX).shape();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
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
  return SetOutput(call.Input(In::kX).dtype, x, outputs);
}

}  // namespace

constexpr OpRow kLayerNormRow =
    MakeOpRow<LayerNormAttributes>(OpKind::kLayerNorm, /*min_inputs=*/2, /*max_inputs=*/3,
                                   InferLayerNorm, /*in_place_inputs=*/1U << 0);

}  // namespace tenon
