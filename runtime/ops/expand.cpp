#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr ExpandAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("rank", offsetof(ExpandAttributes, rank)),
    IntField("dims", offsetof(ExpandAttributes, dims), kMaxRank),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ExpandAttributes>();
  const TensorView& x = call.Input(0);
  const Shape y(attributes.dims, attributes.rank);
  TENON_RETURN_IF_ERROR(SetOutput(x.dtype, y, outputs));
  TENON_ENSURE(BroadcastsTo(x.shape(), y), kInvalidArgument,
               "the input does not broadcast to the wanted shape");
  return OkStatus();
}

}  // namespace

constexpr OpRow kExpandRow = {OpKind::kExpand,
                              "expand",
                              /*min_inputs=*/1,
                              /*max_inputs=*/1,
                              /*outputs=*/1,
                              sizeof(ExpandAttributes) / 4,
                              Infer};

constexpr OpText kExpandText = {kFields, &kDefaults};

}  // namespace tenon
