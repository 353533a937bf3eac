// Mirrors the depthwise convolutions of backends/cpu/kernels/cortex_m/simd/dsp.
#include <algorithm>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "converter/cost/dsp_kinds.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace dsp;

constexpr int64_t kChannels = 4;  // of a depthwise convolution, at once

bool HasPairs(const Context& context) {
  const OpCall& call = context.call();
  const size_t bytes = cpu::dsp::DepthwisePairsBytes(call);
  return bytes != 0 && call.Input(In::kWeights).strides[0] == 1 &&
         context.facts.workspace_bytes >= bytes;
}

/// The columns of x that a row of outputs reads, and those of padding.
int64_t ColumnsRead(const ConvGeometry& g, int64_t* all) {
  *all = int64_t{g.out_extent[1] - 1} * g.strides[1] + (g.kernel[1] - 1) * g.dilations[1] + 1;
  const int64_t before = std::min<int64_t>(g.pads[1], *all);
  return std::min<int64_t>(int64_t{g.in_extent[1]} + g.pads[1], *all) - before;
}

void AddPairs(const Context& context, const ConvGeometry& g, bool is_signed) {
  context.terms.model += g.strides[1] == 1 ? " pairs" : " pairs_apart";
  const int64_t quads = g.inputs / kChannels;
  int64_t columns = 0;
  const int64_t read = ColumnsRead(g, &columns);
  const int64_t row_pairs = CeilDiv<int64_t>(g.out_extent[0], 2) * g.images;
  const int64_t loads = row_pairs * g.strides[0] + g.images;
  context.Add("cleared_columns", columns);
  context.Add("quads", quads);
  context.Add("images", quads * g.images);
  context.Add("loads", quads * loads);
  context.Add("loaded_columns", quads * loads * read);
  context.Add("moves", quads * (row_pairs - g.images));
  context.Add("moved_columns", quads * (row_pairs - g.images) * read);
  context.Add("lines", quads * row_pairs);
  context.Add("outputs", quads * row_pairs * g.out_extent[1]);
  context.Add("signed_outputs", is_signed ? quads * row_pairs * g.out_extent[1] : 0);
}

/// Of a row of x that is loaded, for a block of up to four channels.
struct Loads {
  int64_t inside = 0;
  int64_t outside = 0;
};
Loads LoadsOf(const ConvGeometry& g, const cpu::dsp::DepthwisePlanes& planes) {
  Loads loads;
  const auto add = [&](int64_t row) {
    ++(row < 0 || row >= g.in_extent[0] ? loads.outside : loads.inside);
  };
  int64_t row = -g.pads[0];
  for (int64_t i = 0; i < g.out_extent[0]; i += planes.lines) {
    const int64_t lines = std::min<int64_t>(planes.lines, g.out_extent[0] - i);
    int64_t end = i * g.strides[0] - g.pads[0] + planes.rows;
    if (planes.lines > 1) end = i - g.pads[0] + lines + 2;
    if (planes.lines == 1) row = std::max(row, end - planes.rows);
    for (; row < end; ++row) add(row);
  }
  return loads;
}

void AddPlanes(const Context& context, const ConvGeometry& g, bool is_signed) {
  const cpu::dsp::DepthwisePlanes planes =
      cpu::dsp::DepthwisePlanesOf(context.call(), context.facts.workspace_bytes);
  const bool three =
      g.kernel[0] == 3 && g.kernel[1] == 3 && g.dilations[1] == 1 && g.strides[1] <= 2;
  context.terms.model += !three ? " any_window" : (g.strides[1] == 1 ? " planes" : " planes_apart");
  const int64_t blocks = CeilDiv<int64_t>(g.inputs, kChannels) * g.images;
  const int64_t channels = int64_t{g.inputs} * g.images;
  const int64_t rest = g.inputs % kChannels * g.images;
  int64_t columns = 0;
  const int64_t read = ColumnsRead(g, &columns);
  const Loads loads = LoadsOf(g, planes);
  const int64_t turns = CeilDiv<int64_t>(g.out_extent[0], planes.lines);
  context.Add("cleared_words",
              kChannels * CeilDiv<int64_t>(int64_t{planes.rows} * planes.row_halves, 2));
  context.Add("channels", channels);
  context.Add("blocks", blocks);
  context.Add("loads", blocks * loads.inside);
  context.Add("loaded_columns", blocks * loads.inside * read);
  context.Add("single_columns", rest * loads.inside * read);
  context.Add("zero_rows", channels * loads.outside);
  context.Add("zero_words", channels * loads.outside * planes.row_halves / 2);
  context.Add("turns", blocks * turns);
  if (planes.lines > 1) context.Add("moved_words", channels * (turns - 1) * planes.row_halves / 2);
  if (planes.lines > 1) context.Add("moves", channels * (turns - 1));
  const int64_t lines = channels * g.out_extent[0];
  context.Add("channel_turns", channels * turns);
  context.Add("lines", lines);
  if (three && g.strides[1] == 1) {
    context.Add("line_pairs", lines * (g.out_extent[1] / 2));
    context.Add("line_singles", lines * (g.out_extent[1] % 2));
  } else {
    context.Add("outputs", lines * g.out_extent[1]);
  }
  context.Add("signed_outputs", is_signed ? lines * g.out_extent[1] : 0);
  if (three) return;
  constexpr int64_t kSums = 32;
  context.Add("sums", lines * CeilDiv<int64_t>(g.out_extent[1], kSums));
  context.Add("taps", channels * g.Taps());
  context.Add("line_rows", lines * CeilDiv<int64_t>(g.out_extent[1], kSums) * g.kernel[0]);
  context.Add("line_taps", lines * CeilDiv<int64_t>(g.out_extent[1], kSums) * g.Taps());
  context.Add("output_taps", lines * g.out_extent[1] * g.Taps());
}

}  // namespace

bool DspDepthwise(const Context& context) {
  const OpCall& call = context.call();
  const ConvGeometry g = ConvGeometryOf(call);
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  const Kind kind = NameKind(context, output, g.Taps());
  if (!IsPlain(call)) return false;
  if (kind == Kind::kAny) context.Add("stored", int64_t{g.images} * g.Positions() * g.outputs);
  context.Add("factors", call.Input(In::kMultiplier).Elements());
  const bool is_signed = kind == Kind::kDoubled && output.zero_point != output.min;
  if (kind == Kind::kDoubled && HasPairs(context)) {
    AddPairs(context, g, is_signed);
  } else {
    AddPlanes(context, g, is_signed);
  }
  return true;
}

}  // namespace tenon::converter::instructions
