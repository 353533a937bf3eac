// Reduction over axes, the sum of quantized tensors over axes, and running sums along one.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// Of no elements at all there is no maximum, minimum or mean.
bool NeedsElements(ReduceFunction function) {
  return function == ReduceFunction::kMax || function == ReduceFunction::kMin ||
         function == ReduceFunction::kMean;
}

/// Of either: the attributes begin with ReduceAttributes.
Status InferReduceShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(IsValidEnum(attributes.function, kReduceFunctionCount), kInvalidArgument,
               "there is no reduction {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(IsFlag(attributes.keep_dims), kInvalidArgument, "keep_dims must be 0 or 1");
  TENON_ENSURE(attributes.axes_mask >= 0 && attributes.axes_mask < (1 << x.rank), kInvalidArgument,
               "axes_mask {0} names axes that a tensor of rank {1} does not have",
               attributes.axes_mask, x.rank);
  *y = Shape();
  for (int32_t i = 0; i < x.rank; ++i) {
    const bool reduced = ((attributes.axes_mask >> i) & 1) != 0;
    TENON_ENSURE(!reduced || x[i] >= 1 || !NeedsElements(attributes.function), kInvalidArgument,
                 "axis {0} has no elements to reduce", i);
    if (!reduced) {
      y->dims[y->rank++] = x[i];
    } else if (attributes.keep_dims == 1) {
      y->dims[y->rank++] = 1;
    }
  }
  return OkStatus();
}

bool FunctionTakes(ReduceFunction function, DType dtype) {
  return IsComputeFloat(dtype) || (IsInteger(dtype) && function <= ReduceFunction::kProd);
}

Status InferReduce(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const DType dtype = call.Input(0).dtype;
  Shape y;
  TENON_RETURN_IF_ERROR(InferReduceShape(call, &y));
  if (!FunctionTakes(attributes.function, dtype)) {
    return MakeError(StatusCode::kInvalidArgument, "{s} does not take this dtype")
        .About(kReduceFunctionNames[static_cast<int>(attributes.function)]);
  }
  return SetOutput(dtype, y, outputs);
}

Status InferQuantizedReduce(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedReduceAttributes>();
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsQuantized(dtype), kInvalidArgument, "the input must be i8 or u8");
  TENON_ENSURE(attributes.reduce.function == ReduceFunction::kSum, kInvalidArgument,
               "a quantized reduction is a sum, a mean's count being in the scale");
  Shape y;
  TENON_RETURN_IF_ERROR(InferReduceShape(call, &y));
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.x_zero_point, dtype));
  TENON_ENSURE(attributes.output.rounding == Rounding::kHalfEven ||
                   attributes.output.rounding == Rounding::kFixedPoint,
               kInvalidArgument, "sums are rounded half_even or fixed_point");
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.scale, attributes.output.rounding));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

Status InferCumSum(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<CumSumAttributes>();
  const TensorView& x = call.Input(0);
  TENON_ENSURE(IsComputeFloat(x.dtype) || IsInteger(x.dtype), kInvalidArgument,
               "the input must be f32, f16, f64 or an integer type");
  TENON_ENSURE(attributes.axis >= 0 && attributes.axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", attributes.axis, x.rank);
  TENON_ENSURE(IsFlag(attributes.exclusive) && IsFlag(attributes.reverse), kInvalidArgument,
               "exclusive and reverse must be 0 or 1");
  return SetOutput(x.dtype, x.shape(), outputs);
}

}  // namespace

constexpr OpRow kReduceRow =
    MakeOpRow<ReduceAttributes>(OpKind::kReduce, /*min_inputs=*/1, /*max_inputs=*/1, InferReduce);

constexpr OpRow kQuantizedReduceRow = MakeOpRow<QuantizedReduceAttributes>(
    OpKind::kQuantizedReduce, /*min_inputs=*/1, /*max_inputs=*/1, InferQuantizedReduce);

constexpr OpRow kCumSumRow = MakeOpRow<CumSumAttributes>(
    OpKind::kCumSum, /*min_inputs=*/1, /*max_inputs=*/1, InferCumSum, /*in_place_inputs=*/1U << 0);

}  // namespace tenon
