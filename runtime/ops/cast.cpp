#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr CastAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    MakeField("to", FieldKind::kDType, offsetof(CastAttributes, to), 1),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const int32_t to = call.AttributesAs<CastAttributes>().to;
  TENON_ENSURE(IsValidDType(to), kInvalidArgument, "there is no dtype {0}", to);
  return SetOutput(static_cast<DType>(to), call.Input(0).shape(), outputs);
}

}  // namespace

constexpr OpRow kCastRow = {OpKind::kCast,
                            "cast",
                            /*min_inputs=*/1,
                            /*max_inputs=*/1,
                            /*outputs=*/1,
                            sizeof(CastAttributes) / 4,
                            Infer};

constexpr OpText kCastText = {kFields, &kDefaults};

}  // namespace tenon
