#include "converter/import/tflite/ops/quantized.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/requantize.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using format::ActivationFunctionType;

int32_t Least(DType dtype) { return dtype == DType::kI8 ? -128 : 0; }
int32_t Most(DType dtype) { return dtype == DType::kI8 ? 127 : 255; }

/// The integer for a real number, halves away from zero, not saturated to the type.
int32_t Quantized(float value, const Quantization& quantization) {
  constexpr float kFar = 1.0e6F;  // past every 8-bit bound
  const float rounded = std::round(value / quantization.scale());
  return quantization.zero_point() + static_cast<int32_t>(std::clamp(rounded, -kFar, kFar));
}

}  // namespace

Result<bool> SameQuantization(const Node& node, const std::vector<int>& inputs) {
  TENON_ASSIGN_OR_RETURN(const Quantization output, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  bool same = true;
  for (const int input : inputs) {
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.InputQuantization(input));
    TENON_ASSIGN_OR_RETURN(const DType type, node.InputDType(input));
    same &= quantization == output && type == dtype;
  }
  return same;
}

Result<bool> HasPerTensorScales(const Node& node, const std::vector<int>& inputs) {
  const auto is_scaled = [](const Quantization& quantization, DType dtype) {
    return quantization.IsPerTensor() && (dtype == DType::kI8 || dtype == DType::kU8);
  };
  TENON_ASSIGN_OR_RETURN(const Quantization output, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType output_type, node.OutputDType(0));
  bool scaled = is_scaled(output, output_type);
  for (const int input : inputs) {
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.InputQuantization(input));
    TENON_ASSIGN_OR_RETURN(const DType dtype, node.InputDType(input));
    scaled &= is_scaled(quantization, dtype);
  }
  return scaled;
}

Result<QuantizedOutput> OutputBounds(const Node& node, ActivationFunctionType activation) {
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.OutputQuantization(0));
  if (!quantization.IsPerTensor() || (dtype != DType::kI8 && dtype != DType::kU8)) {
    return InputError("its output must be i8 or u8 with one scale");
  }
  QuantizedOutput output;
  output.to = static_cast<int32_t>(dtype);
  output.rounding = Rounding::kFixedPoint;
  output.zero_point = quantization.zero_point();
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  switch (activation) {
    case ActivationFunctionType::NONE:
      break;
    case ActivationFunctionType::RELU:
      least = 0.0F;
      break;
    case ActivationFunctionType::RELU6:
      least = 0.0F;
      most = 6.0F;
      break;
    case ActivationFunctionType::RELU_N1_TO_1:
      least = -1.0F;
      most = 1.0F;
      break;
    default:
      return InputError("fused activation {} of integers is not supported",
                        static_cast<int>(activation));
  }
  output.min = std::clamp(Quantized(least, quantization), Least(dtype), Most(dtype));
  output.max = std::clamp(Quantized(most, quantization), Least(dtype), Most(dtype));
  return output;
}

Result<QuantizedScale> ScaleOf(const FixedPoint& factor) {
  if (factor.shift > 30) {
    return InputError("its scales differ by a factor of more than 2^30, out of range");
  }
  QuantizedScale scale;
  scale.multiplier = factor.multiplier;
  scale.shift = factor.shift;
  return scale;
}

int32_t Rescale(int32_t difference, const QuantizedScale& scale, int32_t zero_point) {
  constexpr int32_t kFar = 1 << 24;  // past every bound, whatever the zero point
  const int64_t wide = int64_t{difference} << std::max(scale.shift, 0);
  if (wide != static_cast<int32_t>(wide)) {
    return (difference < 0) == (scale.multiplier < 0) ? kFar : -kFar;
  }
  const int32_t product = FixedPointMultiply(difference, scale.multiplier, scale.shift);
  return std::clamp(product, -kFar, kFar) + zero_point;
}

Result<TensorId> Lookup(Node& node, TensorId x, DType to,
                        const std::function<int32_t(int32_t)>& function) {
  std::vector<double> table;
  const int32_t least = Least(node.DTypeOf(x));
  for (int32_t value = least; value < least + 256; ++value) {
    table.push_back(std::clamp(function(value), Least(to), Most(to)));
  }
  Shape shape;
  shape.rank = 1;
  shape.dims[0] = 256;
  return node.Emit(OpKind::kLookup, {x, node.Constant("table", to, shape, table)}, Attributes());
}

Result<TensorId> Clamp(Node& node, TensorId x, const QuantizedOutput& output) {
  const DType dtype = node.DTypeOf(x);
  if (output.min == Least(dtype) && output.max == Most(dtype)) return x;
  return Lookup(node, x, dtype,
                [&](int32_t value) { return std::clamp(value, output.min, output.max); });
}

}  // namespace tenon::converter::tflite
