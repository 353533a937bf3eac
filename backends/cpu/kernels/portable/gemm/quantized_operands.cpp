#include "backends/cpu/kernels/portable/gemm/quantized_operands.hpp"

#include "backends/cpu/kernels/portable/quantized_values.hpp"

namespace tenon::cpu::portable {
namespace {

/// Input `index`, one element for all or one for each.
template <typename T>
PerChannel<T> Vector(const OpCall& call, int index) {
  if (!call.HasInput(index)) return {};
  const TensorView& vector = call.Input(index);
  return {vector.As<const T>(), vector.dims[0] == 1 ? 0 : ptrdiff_t{vector.strides[0]}};
}

}  // namespace

void SetQuantizedOperands(const OpCall& call, const QuantizedOutput& output,
                          QuantizedProduct& product) {
  product.x = call.Input(0).As<const uint8_t>();
  product.x_flip = SignFlip(call.Input(0).dtype);
  product.w = call.Input(1).As<const uint8_t>();
  product.w_flip = SignFlip(call.Input(1).dtype);
  product.y = call.Output().data;
  product.output = output;
  product.bias = Vector<int32_t>(call, 2);
  if (output.rounding == Rounding::kFixedPoint || output.rounding == Rounding::kFixedPointOnce) {
    product.multiplier = Vector<int32_t>(call, 3);
    product.shift = Vector<int8_t>(call, 4);
  } else {
    product.scale = Vector<float>(call, 3);
  }
  product.x_zero_point = Vector<uint8_t>(call, 5);
  product.w_zero_point = Vector<uint8_t>(call, 6);
}

void MoveOutput(QuantizedProduct& product, ptrdiff_t elements) {
  const auto dtype = static_cast<DType>(product.output.to);
  product.y = static_cast<char*>(product.y) + elements * DTypeBytes(dtype);
}

void SkipOutputs(QuantizedProduct& product, ptrdiff_t outputs) {
  product.bias.Skip(outputs);
  product.scale.Skip(outputs);
  product.multiplier.Skip(outputs);
  product.shift.Skip(outputs);
  product.w_zero_point.Skip(outputs);
}

}  // namespace tenon::cpu::portable
