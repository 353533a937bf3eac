#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr PoolAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("kernel", offsetof(PoolAttributes, kernel), 2),
    IntField("strides", offsetof(PoolAttributes, strides), 2),
    IntField("dilations", offsetof(PoolAttributes, dilations), 2),
    IntField("pads", offsetof(PoolAttributes, pads), 4),
    IntField("ceil_mode", offsetof(PoolAttributes, ceil_mode)),
    IntField("count_include_pad", offsetof(PoolAttributes, count_include_pad)),
};

Status InferPool(const OpCall& call, OutputType* outputs) {
  Shape y;
  TENON_RETURN_IF_ERROR(InferPoolShape(call, &y));
  return SetOutput(call.Input(0).dtype, y, outputs);
}

Status InferMaxPool(const OpCall& call, OutputType* outputs) {
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsComputeFloat(dtype) || IsInteger(dtype), kInvalidArgument,
               "the input must be f32, f16, f64 or an integer type");
  return InferPool(call, outputs);
}

Status InferAveragePool(const OpCall& call, OutputType* outputs) {
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  return InferPool(call, outputs);
}

}  // namespace

constexpr OpRow kMaxPoolRow = {OpKind::kMaxPool, "max_pool",    /*min_inputs=*/1,
                               /*max_inputs=*/1, /*outputs=*/1, sizeof(PoolAttributes) / 4,
                               InferMaxPool};

constexpr OpText kMaxPoolText = {kFields, &kDefaults};

constexpr OpRow kAveragePoolRow = {OpKind::kAveragePool, "average_pool", /*min_inputs=*/1,
                                   /*max_inputs=*/1,     /*outputs=*/1,  sizeof(PoolAttributes) / 4,
                                   InferAveragePool};

constexpr OpText kAveragePoolText = {kFields, &kDefaults};

}  // namespace tenon
