#include "backends/opencl/caps/quantized_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::opencl {
namespace {

using In = QuantizedGemmInput;

constexpr int64_t kLanes = 16;  // of quantized_tile.cl
/// Objects of one loaded op and of one session's op on our side of OpenCL, at most.
constexpr int64_t kObjectBytes = 4096;

/// Weights and factors are packed when the plan is loaded, and x has one zero point.
const char* PackedRefusal(const OpCall& call) {
  if (call.Output().Elements() == 0) return "nothing to compute: left to the CPU";
  if (call.Input(In::kX).data != nullptr) return "its input is a constant";
  for (const int packed : {In::kWeights, In::kBias, In::kMultiplier, In::kShift, In::kXZeroPoint,
                           In::kWeightsZeroPoint}) {
    if (call.HasInput(packed) && call.Input(packed).data == nullptr) {
      return "weights and factors are packed when the plan is loaded: they must be constant";
    }
  }
  if (call.HasInput(In::kXZeroPoint) && call.Input(In::kXZeroPoint).dims[0] != 1) {
    return "x has several zero points";
  }
  return nullptr;
}

size_t PackedBytes(int64_t outputs, int64_t inputs) {
  const int64_t padded = RoundUp(outputs, kLanes);
  return static_cast<size_t>(padded * (inputs * int64_t{sizeof(int16_t)} + 3 * 4) + kObjectBytes);
}

}  // namespace

const char* QuantizedSupports(const OpCall&) { return nullptr; }

const char* QuantizedBinarySupports(const OpCall& call) {
  const bool bytes = DTypeBytes(call.Input(0).dtype) == 1 && DTypeBytes(call.Input(1).dtype) == 1 &&
                     DTypeBytes(call.Output().dtype) == 1;
  return bytes ? nullptr : "not of i8 or u8";
}

const char* QuantizedTileSupports(const OpCall& call) {
  if (call.AttributesAs<ConvAttributes>().group != 1) return "group > 1";
  return PackedRefusal(call);
}

const char* QuantizedDepthwiseSupports(const OpCall& call) {
  constexpr int64_t kMostTaps = 256;  // whose sums floats hold exactly
  if (!IsDepthwiseConv(call) || ConvTaps(call) > kMostTaps) return "not depthwise";
  return PackedRefusal(call);
}

const char* QuantizedMatMulTileSupports(const OpCall& call) {
  if (call.AttributesAs<MatMulAttributes>().transpose_a != 0) return "a is transposed";
  if (call.Input(In::kWeights).rank != 2) return "b is no single matrix";
  return PackedRefusal(call);
}

const char* QuantizedAveragePoolSupports(const OpCall& call) {
  const DType dtype = call.Output().dtype;
  if (call.HasInput(QuantizedAveragePoolInput::kSums) ||
      (dtype != DType::kI8 && dtype != DType::kU8)) {
    return "the OpenCL average pool takes and gives no sums";
  }
  return nullptr;
}

size_t QuantizedConvHeld(const OpCall& call) {
  const TensorView& w = call.Input(In::kWeights);
  return PackedBytes(w.dims[0], ConvTaps(call) * w.dims[1]);
}

size_t QuantizedMatMulHeld(const OpCall& call) {
  const TensorView& b = call.Input(In::kWeights);
  const bool transposed = call.AttributesAs<MatMulAttributes>().transpose_b != 0;
  return PackedBytes(b.dims[transposed ? 0 : 1], b.dims[transposed ? 1 : 0]);
}

}  // namespace tenon::opencl
