// Mirrors the depthwise convolutions of backends/cpu/kernels/cortex_m/simd/dsp.
#include <algorithm>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
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
  context.terms.model += g.strides[1] == 1 ? " planes" : " planes_apart";
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
  if (g.strides[1] == 1) {
    context.Add("line_pairs", lines * (g.out_extent[1] / 2));
    context.Add("line_singles", lines * (g.out_extent[1] % 2));
  } else {
    context.Add("outputs", lines * g.out_extent[1]);
  }
  context.Add("signed_outputs", is_signed ? lines * g.out_extent[1] : 0);
}

/// The taps of an output's window along an axis that are inside x.
int64_t TapsInside(const ConvGeometry& g, int axis, int64_t output) {
  const int64_t begin = output * g.strides[axis] - g.pads[axis];
  const int64_t dilation = g.dilations[axis];
  const int64_t first = begin < 0 ? CeilDiv<int64_t>(-begin, dilation) : 0;
  const int64_t room = std::max<int64_t>(g.in_extent[axis] - begin, 0);
  const int64_t end = std::min<int64_t>(CeilDiv<int64_t>(room, dilation), g.kernel[axis]);
  return std::max<int64_t>(end - first, 0);
}

/// Windows of which each is read where it lies; over the input part by part.
void AddWindows(const Context& context, const ConvGeometry& g, Kind kind) {
  const bool in_place = context.operands.kernel().ends_with("_in_place");
  if (in_place) context.terms.model += " windows";
  const OpCall& call = context.call();
  const bool is_whole = kind != Kind::kAny && call.Input(In::kMultiplier).dims[0] != 1 &&
                        call.HasInput(In::kBias) && g.inputs % kChannels == 0;
  int64_t rows[2] = {};    // runs of taps, of all outputs of an image, and those that go by pairs
  int64_t pixels[2] = {};  // outputs likewise
  int64_t pairs = 0;       // their rounds: two taps, or the one that is left
  int64_t taps = 0;
  for (int64_t i = 0; i < g.out_extent[0]; ++i) {
    const int64_t height = TapsInside(g, 0, i);
    for (int64_t j = 0; j < g.out_extent[1]; ++j) {
      const int64_t width = TapsInside(g, 1, j);
      const bool is_column = g.kernel[1] == 1;
      const int64_t of_row = is_column ? height : width;
      const bool by_pairs = !is_whole || of_row > cpu::dsp::kMostWindowTaps;
      ++pixels[by_pairs ? 1 : 0];
      if (height == 0 || width == 0) continue;
      const int64_t count = is_column ? 1 : height;
      rows[by_pairs ? 1 : 0] += count;
      if (by_pairs) pairs += count * CeilDiv<int64_t>(of_row, 2);
      taps += height * width;
    }
  }
  const int64_t quads = CeilDiv<int64_t>(g.inputs, kChannels) * g.images;
  context.Add("rows", int64_t{g.images} * g.out_extent[0]);
  context.Add("pixels", g.Pixels());
  context.Add("quads", quads * pixels[0]);
  context.Add("quad_rows", quads * rows[0]);
  context.Add("pair_quads", quads * pixels[1]);
  context.Add("pair_rows", quads * rows[1]);
  context.Add("quad_pairs", quads * pairs);
  context.Add("quad_taps", quads * taps);
  if (!in_place) return;
  const int64_t parts = int64_t{g.images} * CeilDiv(g.out_extent[0], cpu::InPlaceNewRows(call));
  const auto row_bytes = static_cast<int64_t>(cpu::InPlaceRowBytes(call));
  context.Add("parts", parts);
  context.Add("part_factors", parts * call.Input(In::kMultiplier).Elements());
  context.Add("stored_bytes", int64_t{g.images} * g.out_extent[0] * row_bytes);
  context.Add("moved_bytes", parts * cpu::InPlaceHeldRows(call) * row_bytes);
}

}  // namespace

bool DspDepthwise(const Context& context) {
  const OpCall& call = context.call();
  const ConvGeometry g = ConvGeometryOf(call);
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  const bool has_planes = cpu::dsp::HasDepthwisePlanes(call);
  if (has_planes) context.terms.model = "cpu.quantized_conv.dsp_depthwise";  // in place likewise
  const Kind kind = NameKind(context, output, g.Taps());
  if (!IsPlain(call)) return false;
  if (kind == Kind::kAny) context.Add("stored", int64_t{g.images} * g.Positions() * g.outputs);
  context.Add("factors", call.Input(In::kMultiplier).Elements());
  const bool is_signed = kind == Kind::kDoubled && output.zero_point != output.min;
  if (!has_planes) {
    AddWindows(context, g, kind);
  } else if (kind == Kind::kDoubled && HasPairs(context)) {
    AddPairs(context, g, is_signed);
  } else {
    AddPlanes(context, g, is_signed);
  }
  return true;
}

}  // namespace tenon::converter::instructions
