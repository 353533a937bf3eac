// Says how convolutions of few outputs fill registers with neighbouring pixels, and where that
// pays.
#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

/// The widest registers': where these are filled, narrower ones are.
constexpr int kLanes = 16;

/// Returns how far the last tap is from the first along axis `i`.
int64_t SpanOf(const OpCall& conv, int i) {
  const int32_t taps = conv.Input(GemmInput::kWeights).dims[2 + i];
  return (taps - 1) * int64_t{conv.AttributesAs<ConvAttributes>().dilations[i]};
}

/// Returns the positions that a plane has beyond its outputs along axis `i`.
int64_t BeyondOutputs(const OpCall& conv, int i) {
  return SpanOf(conv, i) / conv.AttributesAs<ConvAttributes>().strides[i];
}

/// Returns the number of planes of a group.
int64_t PlanesOf(const OpCall& conv, const PixelBands& bands) {
  return int64_t{conv.Input(GemmInput::kWeights).dims[1]} * bands.phases[0] * bands.phases[1];
}

/// Sets what follows from the rows and columns of `bands`.
void SetPlanes(const OpCall& conv, PixelBands& bands) {
  bands.bands = CeilDiv(conv.Output().dims[2], bands.rows);
  bands.segments = CeilDiv(conv.Output().dims[3], bands.columns);
  bands.plane_rows = static_cast<int>(bands.rows + BeyondOutputs(conv, 0));
  bands.plane_columns = static_cast<int>(bands.columns + BeyondOutputs(conv, 1));
  bands.floats = PlanesOf(conv, bands) * bands.PlaneFloats() + kMostPixelRun;
}

/// Returns true where planes of one register of pixels are too large.
bool AreTooLarge(const OpCall& conv, const PixelBands& bands) {
  const int64_t rows = 1 + BeyondOutputs(conv, 0);
  const int64_t columns = kLanes + BeyondOutputs(conv, 1);
  const int64_t planes = PlanesOf(conv, bands);
  constexpr int64_t kMost = kMostPixelFloats - kMostPixelRun;
  return rows > kMost || columns > kMost || planes > kMost || rows * columns > kMost / planes;
}

}  // namespace

int64_t PixelVectors(const PixelBands& bands, int lanes) {
  const int64_t by_rows = int64_t{bands.rows} * CeilDiv(bands.columns, lanes);
  const int64_t joined =
      CeilDiv<int64_t>((bands.rows - 1) * int64_t{bands.plane_columns} + bands.columns, lanes);
  return joined < by_rows ? joined : by_rows;
}

PixelBands PixelBandsOf(const OpCall& conv) {
  // Copies of such bands stay in the first-level cache; what is copied twice is few of their rows.
  constexpr int64_t kBandFloats = 8192;
  const auto& strides = conv.AttributesAs<ConvAttributes>().strides;
  const int out_rows = conv.Output().dims[2];
  const int out_columns = conv.Output().dims[3];
  PixelBands bands = {};
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = SpanOf(conv, i) + 1;
    bands.phases[i] = static_cast<int>(strides[i] < reach ? strides[i] : reach);
  }
  if (AreTooLarge(conv, bands)) return bands;
  bands.rows = 1;
  const int64_t row_floats = PlanesOf(conv, bands) * (1 + BeyondOutputs(conv, 0));
  const int64_t fitting = (kMostPixelFloats - kMostPixelRun) / row_floats - BeyondOutputs(conv, 1);
  bands.columns = out_columns;
  if (out_columns > fitting) {
    const auto most = static_cast<int>(fitting / kLanes * kLanes);
    bands.columns = RoundUp(CeilDiv(out_columns, CeilDiv(out_columns, most)), kLanes);
  }
  SetPlanes(conv, bands);
  if (bands.segments > 1) return bands;
  PixelBands more = bands;
  while (more.floats <= kBandFloats && more.rows < out_rows) {
    bands = more;
    ++more.rows;
    SetPlanes(conv, more);
  }
  if (more.floats <= kBandFloats) bands = more;
  bands.rows = CeilDiv(out_rows, bands.bands);  // evenly
  SetPlanes(conv, bands);
  return bands;
}

int64_t PixelConvProducts(const OpCall& call) {
  constexpr int64_t kOfCopied = 6;
  constexpr int64_t kOfOutput = 12;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const int64_t groups = call.AttributesAs<ConvAttributes>().group;
  const int64_t outputs = RoundUp<int64_t>(w.dims[0] / groups, kPixelOutputStep);
  const PixelBands bands = PixelBandsOf(call);
  const int64_t items = y.dims[0] * groups * bands.bands * bands.segments;
  return items * (PixelVectors(bands, kLanes) * kLanes * outputs * w.dims[1] * ConvTaps(call) +
                  kOfCopied * bands.floats) +
         kOfOutput * y.Elements();
}

const char* PixelConvSupports(const OpCall& call) {
  // Below these, copies of inputs, stores of outputs and registers that are not filled cost what
  // full ones gain: measured on 25 shapes, with AVX-512 and with AVX2.
  constexpr int64_t kFewestProducts = 64;
  constexpr int64_t kFewestOfCopied = 6;
  constexpr int64_t kFewestOfPlane = 25'000;
  constexpr int64_t kLeastFilled = 3;  // of four
  constexpr int32_t kFewInputs = 8;
  if (const char* reason = ConvRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  if (w.dims[0] / attributes.group > kMostPixelOutputs) return "for few outputs of each group only";
  const int64_t taps = ConvTaps(call);
  const int64_t products = w.dims[1] * taps;
  if (products < kFewestProducts ||
      taps / attributes.strides[0] / attributes.strides[1] < kFewestOfCopied ||
      products * y.dims[2] * y.dims[3] < kFewestOfPlane) {
    return "windows or images so small that copying rows takes longer than empty lanes";
  }
  const PixelBands bands = PixelBandsOf(call);
  if (products > kMostPixelProducts || bands.rows == 0) {
    return "rows or kernel too large for the stack";
  }
  if (int64_t{bands.rows} * bands.columns * 4 <
      kLeastFilled * kLanes * PixelVectors(bands, kLanes)) {
    return "rows so short that pixels leave as many lanes empty as outputs do";
  }
  if (NarrowConvSupports(call) == nullptr) return "sums along the depth take less";
  if (WinogradSupports(call) == nullptr && (attributes.group > 1 || w.dims[1] > kFewInputs)) {
    return "Winograd's way has fewer products";
  }
  return nullptr;
}

}  // namespace tenon::cpu::f32
