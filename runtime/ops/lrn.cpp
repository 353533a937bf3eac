#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<LrnAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_ENSURE(x.rank >= 2, kInvalidArgument, "the input must have rank 2 or more, not {0}",
               x.rank);
  TENON_ENSURE(attributes.size >= 1 && attributes.size <= kMaxWindowExtent, kInvalidArgument,
               "size must be at least 1 and at most 2^28, not {0}", attributes.size);
  TENON_ENSURE(x[1] <= kMaxWindowExtent, kInvalidArgument,
               "there must not be more than 2^28 channels");
  TENON_ENSURE(std::isfinite(attributes.alpha) && std::isfinite(attributes.beta) &&
                   std::isfinite(attributes.bias),
               kInvalidArgument, "alpha, beta and bias must be finite");
  return SetOutput(call.Input(0).dtype, x, outputs);
}

}  // namespace

constexpr OpRow kLrnRow =
    MakeOpRow<LrnAttributes>(OpKind::kLrn, /*min_inputs=*/1, /*max_inputs=*/1, Infer);

}  // namespace tenon
