// Mirrors backends/cpu/kernels/cortex_m/simd/dsp/fives.cpp and depthwise_row.cpp.
#include <algorithm>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "converter/cost/dsp_kinds.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace dsp;

/// Rows of the windows of one image that are gathered.
struct GatheredRows {
  int64_t inside = 0;
  int64_t edge = 0;
  int64_t padding = 0;
};

GatheredRows GatheredRowsOf(const ConvGeometry& g) {
  GatheredRows rows;
  const int reach = (g.kernel[1] - 1) * g.dilations[1];
  for (int i = 0; i < g.out_extent[0]; ++i) {
    int64_t present = 0;
    for (int tap = 0; tap < g.kernel[0]; ++tap) {
      const int at = i * g.strides[0] - g.pads[0] + tap * g.dilations[0];
      present += at >= 0 && at < g.in_extent[0] ? 1 : 0;
    }
    for (int j = 0; j < g.out_extent[1]; ++j) {
      const int left = j * g.strides[1] - g.pads[1];
      (left >= 0 && left + reach < g.in_extent[1] ? rows.inside : rows.edge) += present;
      rows.padding += g.kernel[0] - present;
    }
  }
  return rows;
}

}  // namespace

bool DspFives(const Context& context) {
  const OpCall& call = context.call();
  const ConvGeometry g = ConvGeometryOf(call);
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  const int64_t depth = call.Input(In::kWeights).Elements() / g.outputs;
  const Kind kind = NameKind(context, output, depth);
  if (kind == Kind::kAny) return false;
  const int64_t steps = depth / 4;
  const int64_t pixels = g.Pixels();
  const int64_t fives = pixels / cpu::dsp::kFivePixels;
  const bool is_signed = kind == Kind::kDoubled && output.zero_point != output.min;
  context.Add("pixels", pixels);
  context.Add("pixel_steps", pixels * steps);
  context.Add("outputs", fives * g.outputs);
  context.Add("signed_outputs", is_signed ? fives * g.outputs : 0);
  context.Add("output_steps", fives * g.outputs * steps);
  if (IsPointwiseConv(call)) return true;
  const GatheredRows rows = GatheredRowsOf(g);
  const int64_t row_bytes = int64_t{g.kernel[1]} * g.inputs;
  context.Add("inside_rows", g.images * rows.inside);
  context.Add("edge_rows", g.images * rows.edge);
  context.Add("padding_rows", g.images * rows.padding);
  context.Add("row_bytes", g.images * (rows.inside + rows.edge + rows.padding) * row_bytes);
  return true;
}

bool DspDepthwiseRow(const Context& context) {
  const OpCall& call = context.call();
  const ConvGeometry g = ConvGeometryOf(call);
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  if (NameKind(context, output, g.Taps()) == Kind::kAny) return false;
  const int stride = g.strides[1];
  const int most = cpu::dsp::DepthwiseRowOutputs(stride);
  int64_t strips = 0;
  int64_t columns = 0;
  int64_t cleared = 0;
  for (int first = 0; first < g.out_extent[1]; first += most, ++strips) {
    const int outputs = std::min(most, g.out_extent[1] - first);
    const int all = (outputs - 1) * stride + g.kernel[1];
    const int begin = first * stride - g.pads[1];
    const int inside = std::min(g.in_extent[1], begin + all) - std::max(begin, 0);
    columns += std::max(inside, 0);
    cleared += all - std::max(inside, 0);
  }
  const int64_t rows = int64_t{g.images} * g.out_extent[0];
  const int64_t quads = g.inputs / 4;
  context.Add("strips", rows * strips);
  context.Add("cleared_columns", rows * cleared);
  context.Add("quads", rows * strips * quads);
  context.Add("columns", rows * columns * quads);
  context.Add("outputs", rows * g.out_extent[1] * quads);
  return true;
}

}  // namespace tenon::converter::instructions
