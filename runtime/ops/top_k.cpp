#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<TopKAttributes>();
  const TensorView& x = call.Input(0);
  TENON_ENSURE(IsComputeFloat(x.dtype) || IsInteger(x.dtype), kInvalidArgument,
               "the input must be f32, f16, f64 or an integer type");
  TENON_ENSURE(attributes.axis >= 0 && attributes.axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", attributes.axis, x.rank);
  TENON_ENSURE(attributes.count >= 0 && attributes.count <= x.dims[attributes.axis],
               kInvalidArgument, "there are no {0} largest of {1} elements", attributes.count,
               x.dims[attributes.axis]);
  TENON_ENSURE(IsFlag(attributes.smallest), kInvalidArgument, "smallest must be 0 or 1");
  Shape y = x.shape();
  y[attributes.axis] = attributes.count;
  return SetOutput(DType::kI64, y, outputs);
}

}  // namespace

constexpr OpRow kTopKRow =
    MakeOpRow<TopKAttributes>(OpKind::kTopK, /*min_inputs=*/1, /*max_inputs=*/1, Infer);

}  // namespace tenon
