#include "runtime/ops/shape_rules.hpp"

#include <cmath>

namespace tenon {

Status SetOutput(DType dtype, const Shape& shape, OutputType* outputs) {
  TENON_ENSURE(shape.IsValid(), kInvalidArgument,
               "the output would have a negative dimension or 2^31 or more elements");
  outputs[0].dtype = dtype;
  outputs[0].shape = shape;
  return OkStatus();
}

Status CheckFloatOperands(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsComputeFloat(dtype), kInvalidArgument, "operands must be f32, f16 or f64");
  for (int i = 1; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    TENON_ENSURE(call.Input(i).dtype == dtype, kInvalidArgument,
                 "input {0} has another dtype than input 0", i);
  }
  return OkStatus();
}

namespace {

// What the list says that a function takes.
bool TakesAny(DType) { return true; }
bool TakesBool(DType dtype) { return dtype == DType::kBool; }
bool TakesFloats(DType dtype) { return IsComputeFloat(dtype); }
bool TakesSigned(DType dtype) { return IsComputeFloat(dtype) || IsSignedInteger(dtype); }

bool FunctionTakes(UnaryFunction function, DType dtype) {
  switch (function) {
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) \
  case UnaryFunction::k##Kind:                                                   \
    return Takes##dtypes(dtype);
#include "runtime/ops/functions.inc"
  }
  return false;
}

}  // namespace

Status CheckFunction(UnaryFunction function, float a, float b, DType dtype) {
  TENON_ENSURE(IsValidEnum(function, kUnaryFunctionCount), kInvalidArgument,
               "there is no function {0}", static_cast<int64_t>(function));
  if (!FunctionTakes(function, dtype)) {
    return MakeError(StatusCode::kInvalidArgument, "{s} does not take this dtype")
        .About(kUnaryFunctionNames[static_cast<int>(function)]);
  }
  if (function == UnaryFunction::kClip) {
    TENON_ENSURE(!std::isnan(a) && !std::isnan(b), kInvalidArgument,
                 "the bounds of a clip must not be NaN");
  } else {
    TENON_ENSURE(std::isfinite(a) && std::isfinite(b), kInvalidArgument,
                 "the parameters of a function must be finite");
  }
  return OkStatus();
}

Status CheckActivation(const Activation& activation, DType dtype) {
  return CheckFunction(activation.function, activation.a, activation.b, dtype);
}

bool Broadcast(const Shape& a, const Shape& b, Shape* result) {
  const Shape& longer = a.rank >= b.rank ? a : b;
  const Shape& shorter = a.rank >= b.rank ? b : a;
  *result = longer;
  const int32_t offset = longer.rank - shorter.rank;
  for (int32_t i = 0; i < shorter.rank; ++i) {
    int32_t& dim = (*result)[offset + i];
    if (shorter[i] == dim || shorter[i] == 1) continue;
    if (dim != 1) return false;
    dim = shorter[i];
  }
  return true;
}

bool BroadcastsTo(const Shape& from, const Shape& to) {
  if (from.rank > to.rank) return false;
  const int32_t offset = to.rank - from.rank;
  for (int32_t i = 0; i < from.rank; ++i) {
    if (from[i] != 1 && from[i] != to[offset + i]) return false;
  }
  return true;
}

Status CheckWindow(const WindowAxis& axis) {
  TENON_ENSURE(axis.input >= 1, kInvalidArgument, "height and width must be at least 1");
  TENON_ENSURE(axis.kernel >= 1, kInvalidArgument, "the kernel must be at least 1, not {0}",
               axis.kernel);
  TENON_ENSURE(axis.stride >= 1 && axis.stride <= kMaxWindowExtent, kInvalidArgument,
               "strides must be at least 1 and at most 2^28, not {0}", axis.stride);
  TENON_ENSURE(axis.dilation >= 1 && axis.dilation <= kMaxWindowExtent, kInvalidArgument,
               "dilations must be at least 1 and at most 2^28, not {0}", axis.dilation);
  TENON_ENSURE(axis.pad_begin >= 0 && axis.pad_end >= 0, kInvalidArgument,
               "pads must not be negative");
  TENON_ENSURE(axis.PaddedInput() <= kMaxWindowExtent, kInvalidArgument,
               "the padded input must not be longer than 2^28");
  TENON_ENSURE(axis.EffectiveKernel() <= axis.PaddedInput(), kInvalidArgument,
               "a window of {0} does not fit into a padded input of {1}", axis.EffectiveKernel(),
               axis.PaddedInput());
  return OkStatus();
}

int64_t WindowCount(const WindowAxis& axis) {
  return (axis.PaddedInput() - axis.EffectiveKernel()) / axis.stride + 1;
}

}  // namespace tenon
