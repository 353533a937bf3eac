// CAST, QUANTIZE and DEQUANTIZE.
#include "converter/import/tflite/ops/quantized.hpp"
#include "converter/ir/elements.hpp"
#include "runtime/ops/requantize.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {

Status LowerCast(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Cast(x, to));
  return node.SetOutput(0, y, order);
}

// From floats, or from integers of another scale or type: those of 8 bits by TFLite's arithmetic,
// others by way of floats.
Status LowerQuantize(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const Quantization output, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  if (output.IsNone()) return InputError("its output is not quantized");
  if (IsFloat(node.DTypeOf(x))) {
    TENON_ASSIGN_OR_RETURN(const TensorId y, node.Quantize(x, to, output));
    return node.SetOutput(0, y, order);
  }
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  TENON_ASSIGN_OR_RETURN(const Quantization input, node.InputQuantization(0));
  if (!scaled) {
    if (!input.IsPerTensor()) return InputError("only integers with one scale can get another");
    TENON_ASSIGN_OR_RETURN(const TensorId real, node.Dequantize(x, input));
    TENON_ASSIGN_OR_RETURN(const TensorId y, node.Quantize(real, to, output));
    return node.SetOutput(0, y, order);
  }
  TENON_ASSIGN_OR_RETURN(
      const QuantizedScale scale,
      ScaleOf(QuantizeMultiplier(double{input.scale()} / double{output.scale()})));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Lookup(node, x, to, [&](int32_t value) {
                           return Rescale(value - input.zero_point(), scale, output.zero_point());
                         }));
  return node.SetOutput(0, y, order);
}

// Also from f16, as models with halved weights have it.
Status LowerDequantize(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(Quantization quantization, node.InputQuantization(0));
  const Tensor tensor = node.graph().tensor(x);
  if (!quantization.IsNone()) {
    if (!quantization.IsPerTensor()) quantization.axis = AxisIn(order, quantization.axis);
    TENON_ASSIGN_OR_RETURN(const TensorId y, node.Dequantize(x, quantization));
    return node.SetOutput(0, y, order);
  }
  if (!IsFloat(tensor.dtype)) return InputError("its input is not quantized");
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  if (tensor.IsConstant()) {
    return node.SetOutput(0, node.Constant("real", to, tensor.shape, ReadElements(tensor)), order);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Cast(x, to));
  return node.SetOutput(0, y, order);
}

// Sparse constants are read with their zeros: there is nothing left to do.
Status LowerDensify(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  return node.SetOutput(0, x, order);
}

}  // namespace tenon::converter::tflite
