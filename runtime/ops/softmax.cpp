#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr SoftmaxAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("axis", offsetof(SoftmaxAttributes, axis)),
    IntField("log", offsetof(SoftmaxAttributes, log)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<SoftmaxAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_ENSURE(attributes.axis >= 0 && attributes.axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", attributes.axis, x.rank);
  TENON_ENSURE(x[attributes.axis] >= 1, kInvalidArgument, "axis {0} is empty", attributes.axis);
  TENON_ENSURE(IsFlag(attributes.log), kInvalidArgument, "log must be 0 or 1");
  return SetOutput(call.Input(0).dtype, x, outputs);
}

}  // namespace

constexpr OpRow kSoftmaxRow = {OpKind::kSoftmax,
                               "softmax",
                               /*min_inputs=*/1,
                               /*max_inputs=*/1,
                               /*outputs=*/1,
                               sizeof(SoftmaxAttributes) / 4,
                               Infer,
                               /*in_place_inputs=*/1U << 0};

constexpr OpText kSoftmaxText = {kFields, &kDefaults};

}  // namespace tenon
