// Mirrors backends/cpu/kernels/cortex_m/simd/dsp/first.cpp.
#include <algorithm>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "converter/cost/dsp_kinds.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace dsp;

/// The windows of one image, for each four outputs.
struct Windows {
  int64_t runs = 0;  ///< of windows inside x, of a row of outputs
  int64_t read = 0;  ///< windows that are read where they lie
  int64_t read_rows = 0;
  int64_t gathered = 0;
  int64_t edge_rows = 0;  ///< of those
  int64_t padding_rows = 0;
};

Windows WindowsOf(const ConvGeometry& g) {
  Windows windows;
  for (int row = 0; row < g.out_extent[0]; ++row) {
    const int top = row * g.strides[0] - g.pads[0];
    const int rows = std::min(g.in_extent[0], top + g.kernel[0]) - std::max(top, 0);
    int64_t read = 0;
    for (int column = 0; column < g.out_extent[1]; ++column) {
      const int left = column * g.strides[1] - g.pads[1];
      const bool inside = rows > 0 && left >= 0 && left + g.kernel[1] <= g.in_extent[1];
      read += inside ? 1 : 0;
    }
    const int64_t others = g.out_extent[1] - read;
    windows.runs += read > 0 ? 1 : 0;
    windows.read += read;
    windows.read_rows += read * rows;
    windows.gathered += others;
    windows.edge_rows += others * std::max(rows, 0);
    windows.padding_rows += others * (g.kernel[0] - std::max(rows, 0));
  }
  return windows;
}

}  // namespace

bool DspFirst(const Context& context) {
  const OpCall& call = context.call();
  const ConvGeometry g = ConvGeometryOf(call);
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  const int64_t depth = call.Input(In::kWeights).Elements() / g.outputs;
  const bool is_dense = g.kernel[1] == 1 || g.x.pixel == g.inputs;
  const bool is_even = output.rounding == Rounding::kHalfEven;
  if (!is_dense || context.facts.workspace_bytes < cpu::dsp::FirstBytes(call) ||
      !(is_even || IsFast(call, output, depth))) {
    context.terms.model = "cpu.quantized_conv.dsp";  // the kernel calls the other one
    return DspConv(context);
  }
  const Kind kind = NameKind(context, output, depth);
  if (kind == Kind::kAny) return false;
  const bool is_signed = kind == Kind::kDoubled && output.zero_point != output.min;
  const int64_t quads = g.outputs / 4;
  const int64_t words = CeilDiv<int64_t>(int64_t{g.kernel[1]} * g.inputs, 4);
  const Windows windows = WindowsOf(g);
  const int64_t times = quads * g.images;
  const int64_t rows = windows.read_rows + windows.gathered * g.kernel[0];
  context.Add("factors", call.Input(In::kMultiplier).Elements());
  context.Add("quads", quads);
  context.Add("quad_words", quads * g.kernel[0] * words);
  context.Add("rows", times * g.out_extent[0]);
  context.Add("runs", times * windows.runs);
  context.Add("windows", times * windows.read);
  context.Add("gathered", times * windows.gathered);
  context.Add("edge_rows", times * windows.edge_rows);
  context.Add("padding_rows", times * windows.padding_rows);
  context.Add("signed_windows", is_signed ? times * (windows.read + windows.gathered) : 0);
  context.Add("window_rows", times * rows);
  context.Add("window_words", times * rows * words);
  return true;
}

}  // namespace tenon::converter::instructions
