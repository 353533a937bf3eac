#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

constexpr int32_t kStep = 4;  // elements of a step
constexpr int kTaps = 3;      // rows of taps
constexpr int64_t kHalfBytes = 2;
constexpr int64_t kSums = 4;  // of rows, for two rows of outputs
/// A row of taps has so many inputs at least: what stands around a pixel's products shows with
/// fewer.
constexpr int64_t kLeastInputs = 24;
constexpr int kLeastColumns = 4;
/// Adding up the rows of weights costs about three instructions for each weight and pass, so a pass
/// should have so many pixels. Its inputs may take twice as much for that as for more.
constexpr int kPassPixels = 32;
constexpr int64_t kPassBytes = 8192;

int64_t RowHalves(const OpCall& conv, int half) {
  const TensorView& w = conv.Input(In::kWeights);
  return 2 * (int64_t{half} + w.dims[3] - 1) * w.dims[1];
}

}  // namespace

Reason WinogradSupports(const OpCall& call) {
  if (const Reason reason = ConvSupports(call)) return reason;
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const ConvAttributes& conv = attributes.conv;
  const TensorView& w = call.Input(In::kWeights);
  const TensorView& y = call.Output();
  for (int i = 0; i < 2; ++i) {
    if (conv.strides[i] != 1 || conv.dilations[i] != 1)
      return "steps of 1 between windows and taps";
  }
  if (w.dims[2] != kTaps) return "Winograd's products are of windows of three rows";
  if (w.dims[1] % kStep != 0 || int64_t{w.dims[1]} * w.dims[3] < kLeastInputs) {
    return "Winograd's products want many channels, in fours";
  }
  if (w.dims[0] % 2 != 0 || y.dims[2] < 2 || y.dims[3] < 2) {
    return "Winograd's products want two outputs, rows and columns";
  }
  if (call.Input(In::kX).dtype != DType::kI8 || w.dtype != DType::kI8 ||
      call.HasInput(In::kWeightsZeroPoint)) {
    return "Winograd's products are of i8, and of weights without zero points";
  }
  const QuantizedOutput& output = attributes.output;
  if (output.min != INT8_MIN || output.max != INT8_MAX ||
      output.rounding == Rounding::kFixedPointOnce) {
    return "Winograd's products give all of i8, and round twice or to even";
  }
  return nullptr;
}

WinogradPass WinogradPassOf(const OpCall& conv, size_t workspace_bytes) {
  const TensorView& w = conv.Input(In::kWeights);
  const TensorView& y = conv.Output();
  const int64_t inputs = int64_t{w.dims[1]} * w.dims[3];
  WinogradPass pass = {};
  pass.w_bytes = static_cast<size_t>(2 * kSums * inputs * kHalfBytes);
  pass.padding_bytes = static_cast<size_t>(w.dims[1]);
  const size_t beside = pass.w_bytes + pass.padding_bytes;
  const size_t left = workspace_bytes > beside ? workspace_bytes - beside : 0;
  const int64_t room = left < size_t{1} << 30 ? static_cast<int64_t>(left) : int64_t{1} << 30;
  const auto tile_bytes = [&] { return kSums * RowHalves(conv, pass.half) * kHalfBytes; };
  pass.columns = y.dims[3] < 2 * kMostWinogradPairs ? y.dims[3] : 2 * kMostWinogradPairs;
  pass.half = (pass.columns + 1) / 2;
  while (pass.columns > kLeastColumns && tile_bytes() > (room < kPassBytes ? room : kPassBytes)) {
    pass.columns = pass.half;
    pass.half = (pass.columns + 1) / 2;
  }
  pass.row_halves = static_cast<int>(RowHalves(conv, pass.half));
  const int64_t bytes = tile_bytes();
  if (bytes > room) return pass;
  pass.tiles = 1;
  while (2 * pass.tiles < y.dims[2] && (pass.tiles + 1) * pass.half <= kMostWinogradPairs) {
    const bool is_small = 2 * pass.tiles * pass.columns < kPassPixels;
    const int64_t more = (pass.tiles + 1) * bytes;
    if (more > room || more > (is_small ? 2 * kPassBytes : kPassBytes)) break;
    ++pass.tiles;
  }
  pass.x_bytes = static_cast<size_t>(pass.tiles * bytes);
  return pass;
}

size_t WinogradWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const size_t own = WinogradPassOf(call, SIZE_MAX).Bytes();
  const size_t least = ConvLeastWorkspaceBytes(call);
  return own > least ? own : least;
}

Reason WinogradInPlaceSupports(const OpCall& call) {
  if (const Reason reason = WinogradSupports(call)) return reason;
  if (const Reason reason = InPlaceConvSupports(call)) return reason;
  if (call.Output().dims[2] % kWinogradRows != 0) {
    return "Winograd's products in place want an even number of rows";
  }
  return nullptr;
}

size_t WinogradInPlaceWorkspaceBytes(const OpCall& call, int threads) {
  if (call.Output().Elements() == 0) return 0;
  const size_t own = ConvInPlaceWorkspaceBytes(call, threads);
  const InPlacePart tile(call, 0, 0, kWinogradRows, nullptr);
  const size_t of_tiles =
      InPlacePartsRows(call, kWinogradRows) + WinogradWorkspaceBytes(tile.call(), threads);
  return of_tiles > own ? of_tiles : own;
}

bool WinogradFitsInPlace(const OpCall& call, size_t workspace_bytes) {
  const InPlacePart tile(call, 0, 0, kWinogradRows, nullptr);
  const size_t rows = InPlacePartsRows(call, kWinogradRows);
  return workspace_bytes >= rows + ConvLeastWorkspaceBytes(tile.call()) &&
         WinogradPassOf(tile.call(), workspace_bytes - rows).tiles > 0;
}

}  // namespace tenon::cpu::dsp
