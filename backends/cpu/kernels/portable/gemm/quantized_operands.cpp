#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = QuantizedProductInput;

/// Input `index`, one element for all or one for each.
template <typename T>
PerChannel<T> Vector(const OpCall& call, int index) {
  if (!call.HasInput(index)) return {};
  const TensorView& vector = call.Input(index);
  return {vector.As<const T>(), vector.dims[0] == 1 ? 0 : ptrdiff_t{vector.strides[0]}};
}

}  // namespace

void SetQuantizedOperands(const OpCall& call, const QuantizedOutput& output, QuantizedGemm& gemm) {
  gemm.x = call.Input(In::kX).As<const uint8_t>();
  gemm.x_flip = SignFlip(call.Input(In::kX).dtype);
  gemm.w = call.Input(In::kWeights).As<const uint8_t>();
  gemm.w_flip = SignFlip(call.Input(In::kWeights).dtype);
  gemm.y = call.Output().data;
  gemm.output = output;
  gemm.bias = Vector<int32_t>(call, 2);
  if (output.rounding == Rounding::kFixedPoint || output.rounding == Rounding::kFixedPointOnce) {
    gemm.multiplier = Vector<int32_t>(call, 3);
    gemm.shift = Vector<int8_t>(call, 4);
  } else {
    gemm.scale = Vector<float>(call, 3);
  }
  gemm.x_zero_point = Vector<uint8_t>(call, 5);
  gemm.w_zero_point = Vector<uint8_t>(call, 6);
}

void MoveOutput(QuantizedGemm& gemm, ptrdiff_t elements) {
  const auto dtype = static_cast<DType>(gemm.output.to);
  gemm.y = static_cast<char*>(gemm.y) + elements * DTypeBytes(dtype);
}

void SkipOutputs(QuantizedGemm& gemm, ptrdiff_t outputs) {
  gemm.bias.Skip(outputs);
  gemm.scale.Skip(outputs);
  gemm.multiplier.Skip(outputs);
  gemm.shift.Skip(outputs);
  gemm.w_zero_point.Skip(outputs);
}

}  // namespace tenon::cpu::portable
