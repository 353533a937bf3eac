#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr ReshapeAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("rank", offsetof(ReshapeAttributes, rank)),
    IntField("dims", offsetof(ReshapeAttributes, dims), kMaxRank),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ReshapeAttributes>();
  const TensorView& x = call.Input(0);
  const Shape y(attributes.dims, attributes.rank);
  TENON_RETURN_IF_ERROR(SetOutput(x.dtype, y, outputs));
  TENON_ENSURE(y.Elements() == x.Elements(), kInvalidArgument,
               "{0} elements cannot become {1} elements", x.Elements(), y.Elements());
  return OkStatus();
}

}  // namespace

constexpr OpRow kReshapeRow = {OpKind::kReshape,
                               "reshape",
                               /*min_inputs=*/1,
                               /*max_inputs=*/1,
                               /*outputs=*/1,
                               sizeof(ReshapeAttributes) / 4,
                               Infer};

constexpr OpText kReshapeText = {kFields, &kDefaults};

}  // namespace tenon
