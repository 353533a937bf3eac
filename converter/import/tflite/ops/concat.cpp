// CONCATENATION and PACK.
#include <cmath>
#include <numeric>

#include "converter/import/tflite/ops/quantized.hpp"
#include "runtime/ops/requantize.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

Result<Operands> AllInputs(Node& node) {
  std::vector<int> inputs(static_cast<size_t>(node.InputCount()));
  if (inputs.empty()) return InputError("it has no inputs");
  std::iota(inputs.begin(), inputs.end(), 0);
  return node.Aligned(inputs);
}

Result<TensorId> Join(Node& node, const std::vector<TensorId>& parts, int32_t axis) {
  if (parts.size() == 1) return parts[0];
  ConcatAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kConcat, parts, Attributes(attributes));
}

Result<TensorId> Concatenate(Node& node, const Operands& parts) {
  const auto* options = node.stored().builtin_options_as_ConcatenationOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const int32_t axis,
                         node.Axis(options->axis(), node.ShapeOf(parts.ids[0]).rank));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Join(node, parts.ids, AxisIn(parts.order, axis)));
  return node.Activate(y, options->fused_activation_function());
}

}  // namespace

Status LowerConcatenation(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Operands parts, AllInputs(node));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Concatenate(node, parts));
  return node.SetOutput(0, y, parts.order);
}

// Parts of another scale get the output's first. TFLite does so for u8 only, refuses i8 and joins
// the bits of i16.
Status LowerQuantizedConcatenation(Node& node) {
  const auto* options = node.stored().builtin_options_as_ConcatenationOptions();
  std::vector<int> inputs(static_cast<size_t>(node.InputCount()));
  std::iota(inputs.begin(), inputs.end(), 0);
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, inputs));
  const bool active = options != nullptr &&
                      options->fused_activation_function() != format::ActivationFunctionType::NONE;
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  bool words = dtype == DType::kI16 && !active;
  for (const int input : inputs) {
    TENON_ASSIGN_OR_RETURN(const DType type, node.InputDType(input));
    words &= type == DType::kI16;
  }
  if (words) return LowerConcatenation(node);
  if (!scaled || active) {
    node.ComputeInFloats();
    return LowerConcatenation(node);
  }
  TENON_ASSIGN_OR_RETURN(Operands parts, AllInputs(node));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.OutputQuantization(0));
  const float inverse = 1.0F / y.scale();
  for (size_t i = 0; i < parts.ids.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(static_cast<int>(i)));
    if (x == y && node.DTypeOf(parts.ids[i]) == dtype) continue;
    const float scale = x.scale() * inverse;
    const float bias = static_cast<float>(-x.zero_point()) * scale;
    TENON_ASSIGN_OR_RETURN(parts.ids[i], Lookup(node, parts.ids[i], dtype, [&](int32_t value) {
                             const float sum = static_cast<float>(value) * scale + bias;
                             return RoundHalfAway(sum) + y.zero_point();
                           }));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId result, Concatenate(node, parts));
  return node.SetOutput(0, result, parts.order);
}

Status LowerPack(Node& node) {
  const auto* options = node.stored().builtin_options_as_PackOptions();
  if (options == nullptr) return InputError("its options are missing");
  std::vector<TensorId> parts;
  int32_t axis = 0;
  for (int i = 0; i < node.InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(i));
    const Shape shape = node.ShapeOf(x);
    TENON_ASSIGN_OR_RETURN(axis, node.Axis(options->axis(), shape.rank + 1));
    std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
    dims.insert(dims.begin() + axis, 1);
    TENON_ASSIGN_OR_RETURN(const TensorId part, node.Reshape(x, dims));
    parts.push_back(part);
  }
  if (parts.empty()) return InputError("it has no inputs");
  TENON_ASSIGN_OR_RETURN(const TensorId y, Join(node, parts, axis));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
