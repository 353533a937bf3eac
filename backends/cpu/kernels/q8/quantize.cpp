// These kernels convert f32 to bytes, or to words of 16 bits, and back, with one scale for the
// whole tensor. Images can change from planes of floats to channels-last bytes on the way.
#include <cmath>

#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/q8/staged_rows.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizeInput;

/// Is the number of pixels of planes that are quantized before they are interleaved.
constexpr int kPlanePixels = 512;
constexpr int kPlanes = 3;

/// Returns the inverse of a power of two, whose products are exactly the quotients; else 0.
float ExactInverse(float scale) {
  int exponent = 0;
  const float mantissa = std::frexp(scale, &exponent);
  const bool has_inverse = mantissa == 0.5F && exponent > -120 && exponent < 120;
  return has_inverse ? 1.0F / scale : 0.0F;
}

int32_t ZeroPointOf(const OpCall& op, DType dtype) {
  if (!op.HasInput(In::kZeroPoint)) return 0;
  const auto byte = *op.Input(In::kZeroPoint).As<const uint8_t>();
  return dtype == DType::kI8 ? static_cast<int8_t>(byte) : byte;
}

bool HasHalvesAway(const OpCall& op) {
  return op.AttributesAs<QuantizeAttributes>().rounding == Rounding::kHalfAway;
}

QuantizeCall CallOf(const OpCall& op) {
  const DType dtype = op.Output().dtype;
  QuantizedOutput output;
  output.to = static_cast<int32_t>(dtype);
  output.zero_point = ZeroPointOf(op, dtype);
  output.min = dtype == DType::kI8 ? -128 : 0;
  output.max = dtype == DType::kI8 ? 127 : 255;
  QuantizeCall call = {};
  call.scale = *op.Input(In::kScale).As<const float>();
  call.inverse = ExactInverse(call.scale);
  call.half_away = HasHalvesAway(op);
  call.output = ByteOutputOf(output);
  return call;
}

int32_t WordZeroPointOf(const OpCall& op, DType dtype) {
  if (!op.HasInput(In::kZeroPoint)) return 0;
  const auto word = *op.Input(In::kZeroPoint).As<const uint16_t>();
  return dtype == DType::kI16 ? static_cast<int16_t>(word) : word;
}

/// Quantizes three planes of x whose pixels are interleaved in y.
bool IsInterleaving(const TensorView& x, const TensorView& y) {
  if (x.rank != 4 || x.dims[1] != kPlanes) return false;
  const bool planes = x.strides[3] == 1 && (x.dims[2] == 1 || x.strides[2] == x.dims[3]);
  const bool pixels = y.strides[1] == 1 && y.strides[3] == kPlanes &&
                      (y.dims[2] == 1 || y.strides[2] == y.dims[3] * kPlanes);
  return planes && pixels;
}

void Interleave(const ByteRoutines& routines, QuantizeCall call, const TensorView& x,
                const TensorView& y, const ParallelRunner* parallel) {
  const int pixels = x.dims[2] * x.dims[3];
  const int pieces = (pixels + kPlanePixels - 1) / kPlanePixels;
  const bool is_large = x.Elements() >= portable::kParallelElements;
  ParallelFor(is_large ? parallel : nullptr, x.dims[0] * pieces, [&](int begin, int end) {
    uint8_t planes[kPlanes][kPlanePixels];
    const uint8_t* const rows[kPlanes] = {planes[0], planes[1], planes[2]};
    QuantizeCall part = call;
    for (int item = begin; item < end; ++item) {
      const int64_t image = item / pieces;
      const int64_t first = int64_t{item % pieces} * kPlanePixels;
      part.count = pixels - first < kPlanePixels ? static_cast<int>(pixels - first) : kPlanePixels;
      for (int plane = 0; plane < kPlanes; ++plane) {
        part.x = x.As<const float>() + image * x.strides[0] + int64_t{plane} * x.strides[1] + first;
        part.y = planes[plane];
        routines.quantize(part);
      }
      routines.interleave3(rows, y.As<uint8_t>() + image * y.strides[0] + first * kPlanes,
                           part.count);
    }
  });
}

}  // namespace

Status QuantizeCheck(const KernelSetup& setup) { return CheckResult(QuantizeSupports(setup.op)); }

Status QuantizeRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Output();
  const QuantizeCall whole = CallOf(call.op);
  if (IsInterleaving(x, y)) {
    Interleave(routines, whole, x, y, call.parallel);
    return OkStatus();
  }
  MapElements(y, x, call.parallel, whole, routines.quantize);
  return OkStatus();
}

Status DequantizeCheck(const KernelSetup& setup) {
  return CheckResult(DequantizeSupports(setup.op));
}

Status DequantizeRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Output();
  DequantizeCall whole = {};
  whole.flip = FlipToI8(x.dtype);
  whole.zero_point = ZeroPointOf(call.op, x.dtype) - OffsetToI8(x.dtype);
  whole.scale = *call.op.Input(In::kScale).As<const float>();
  MapElements(y, x, call.parallel, whole, routines.dequantize);
  return OkStatus();
}

Status QuantizeWordsCheck(const KernelSetup& setup) {
  return CheckResult(QuantizeWordsSupports(setup.op));
}

Status QuantizeWordsRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& y = call.op.Output();
  QuantizeWordsCall whole = {};
  whole.scale = *call.op.Input(In::kScale).As<const float>();
  whole.zero_point = WordZeroPointOf(call.op, y.dtype);
  whole.min = y.dtype == DType::kI16 ? INT16_MIN : 0;
  whole.max = y.dtype == DType::kI16 ? INT16_MAX : UINT16_MAX;
  whole.half_away = HasHalvesAway(call.op);
  MapElements(y, call.op.Input(In::kX), call.parallel, whole, routines.quantize_words);
  return OkStatus();
}

Status DequantizeWordsCheck(const KernelSetup& setup) {
  return CheckResult(DequantizeWordsSupports(setup.op));
}

Status DequantizeWordsRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const bool is_signed = x.dtype == DType::kI16;
  DequantizeWordsCall whole = {};
  whole.flip = is_signed ? 0 : 0x8000;
  whole.zero_point = WordZeroPointOf(call.op, x.dtype) - (is_signed ? 0 : 0x8000);
  whole.scale = *call.op.Input(In::kScale).As<const float>();
  MapElements(call.op.Output(), x, call.parallel, whole, routines.dequantize_words);
  return OkStatus();
}

}  // namespace tenon::cpu::q8
