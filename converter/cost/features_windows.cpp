// Models convolutions without register tiles, pools, and functions along one dimension
// (backends/cpu/kernels/f32).
#include <algorithm>

#include "backends/cpu/caps/f32_caps.hpp"
#include "converter/cost/features_kernels.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::converter::features {
namespace {

/// Returns the vectors that `channels` take: whole ones, one of half size, then some of four lanes.
double Vectors(int64_t channels, int lanes) {
  const int64_t whole = channels / lanes;
  int64_t left = channels % lanes;
  double vectors = static_cast<double>(whole);
  if (left >= lanes / 2 && lanes > 4) {
    vectors += 1;
    left -= lanes / 2;
  }
  return vectors + static_cast<double>(CeilDiv<int64_t>(left, 4));
}

}  // namespace

void Depthwise(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const int group = w.dims[1];  // several: each vector is spread channel by channel
  const bool compact =
      (group > 1 || IsDepthwiseConv(call)) &&
      cpu::f32::IsCompactDepthwise(w.dims + 2, attributes.strides, attributes.dilations, group);
  const int64_t tiles_per_row = CeilDiv<int64_t>(y.dims[3], cpu::f32::kMostDepthwisePixels);
  const auto items = static_cast<double>(int64_t{y.dims[0]} * y.dims[2] * tiles_per_row);
  const auto pixels = static_cast<double>(int64_t{y.dims[0]} * y.dims[2] * y.dims[3]);
  const double vectors = Vectors(y.dims[1], context.machine.vector_lanes);
  const auto taps = static_cast<double>(int64_t{w.dims[2]} * w.dims[3]);
  // Counts input columns that the pixels of all items read.
  const double columns =
      compact ? w.dims[2] * ((pixels - items) * attributes.strides[1] + items * w.dims[3])
              : pixels * taps;
  CostTerms& terms = context.terms;
  if (!compact) terms.model += " any";
  if (group > 1) terms.model += " groups";
  if (group == 1 && y.dims[1] != call.Input(0).dims[1]) terms.model += " multiplied";
  terms.Add("items", items);
  terms.Add("pointers", columns);
  terms.Add("item_vectors", items * vectors);
  terms.Add("column_vectors", columns * vectors);
  terms.Add("product_vectors", pixels * taps * vectors * group);
  terms.Add("output_vectors", pixels * vectors);
  AddActivation(context, attributes.activation);
  AddActivationTraffic(context);
}

void NarrowConv(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const auto rows = static_cast<double>(int64_t{y.dims[0]} * y.dims[2]);
  const double pixels = rows * static_cast<double>(y.dims[3]);
  const int64_t segments = attributes.dilations[1] == 1 ? w.dims[2] : ConvTaps(call);
  const int64_t length = w.dims[1] * ConvTaps(call) / segments;
  const int64_t vectors = segments * CeilDiv<int64_t>(length, context.machine.vector_lanes);
  CostTerms& terms = context.terms;
  terms.Add("rows", rows);
  terms.Add("sums", static_cast<double>(y.Elements()));
  terms.Add("segments", pixels * static_cast<double>(segments));
  terms.Add("input_vectors", pixels * static_cast<double>(vectors));
  terms.Add("product_vectors", pixels * static_cast<double>(vectors * y.dims[1]));
  AddActivation(context, attributes.activation);
  AddActivationTraffic(context);
}

void PixelConv(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const cpu::f32::PixelBands bands = cpu::f32::PixelBandsOf(call);
  const int64_t lanes = std::max<int64_t>(context.machine.vector_lanes, 4);
  const auto items =
      static_cast<double>(int64_t{y.dims[0]} * attributes.group * bands.bands * bands.segments);
  const auto vectors = static_cast<double>(cpu::f32::PixelVectors(bands, static_cast<int>(lanes)));
  const auto products = static_cast<double>(w.dims[1] * ConvTaps(call));
  const auto outputs = static_cast<double>(
      RoundUp<int64_t>(w.dims[0] / attributes.group, cpu::f32::kPixelOutputStep));
  CostTerms& terms = context.terms;
  terms.Add("bands", items);
  terms.Add("product_vectors", items * vectors * products * outputs);
  terms.Add("copied", items * static_cast<double>(bands.floats));
  terms.Add("outputs", static_cast<double>(y.Elements()));
  AddActivation(context, attributes.activation);
  AddActivationTraffic(context);
}

void Pool(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  const auto windows = static_cast<double>(int64_t{y.dims[0]} * y.dims[2] * y.dims[3]);
  const double vectors = Vectors(y.dims[1], context.machine.vector_lanes);
  // Counts the taps of an average window, less those in the padding.
  double taps[2];
  for (int i = 0; i < 2; ++i) {
    const double kernel = std::min(attributes.kernel[i], x.dims[2 + i]);
    const double hidden = attributes.pads[i] + attributes.pads[2 + i];
    taps[i] = std::max(1.0, kernel - hidden * kernel / (2.0 * std::max(1, y.dims[2 + i])));
  }
  const bool by_rows = context.operands.kernel() == "cpu.max_pool.vector" &&
                       y.dims[1] <= cpu::f32::kMostRowMaximaChannels;
  if (by_rows) {
    const auto lanes = static_cast<double>(context.machine.vector_lanes);
    const double rows = static_cast<double>(int64_t{y.dims[0]} * y.dims[2] * y.dims[1]) / lanes;
    context.terms.model += " rows";
    context.terms.Add("rows", static_cast<double>(int64_t{y.dims[0]} * y.dims[2]));
    context.terms.Add("column_vectors", rows * taps[0] * x.dims[3]);
    context.terms.Add("row_vectors", attributes.strides[1] == 1 ? rows * taps[1] * y.dims[3] : 0.0);
    context.terms.Add(
        "single", attributes.strides[1] == 1 ? 0.0 : static_cast<double>(y.Elements()) * taps[1]);
    AddActivationTraffic(context);
    return;
  }
  context.terms.Add("windows", windows);
  context.terms.Add("window_vectors", windows * vectors);
  context.terms.Add("tap_vectors", windows * vectors * taps[0] * taps[1]);
  context.terms.Add("taps", windows * taps[0] * taps[1]);
  AddActivationTraffic(context);
}

void Lrn(const Context& context) {
  const TensorView& x = context.call().Input(0);
  const auto channels = static_cast<double>(std::max(x.dims[1], 1));
  const double pixels = static_cast<double>(x.Elements()) / channels;
  const auto& attributes = context.call().AttributesAs<LrnAttributes>();
  context.terms.Add("pixels", pixels);
  context.terms.Add("elements", pixels * channels);
  context.terms.Add("window_elements", pixels * channels * attributes.size);
  AddActivationTraffic(context);
}

namespace {

/// Adds the terms of ops that go over every row along `axis` several times.
void AddRows(const Context& context, int32_t axis) {
  const TensorView& x = context.call().Input(0);
  const int64_t count = std::max(x.dims[axis], 1);
  const int64_t rows = x.Elements() / count;
  const int lanes = context.machine.vector_lanes;
  const bool is_short = count <= cpu::f32::kShortRow;
  context.terms.Add("rows", static_cast<double>(rows));
  const int64_t vectors =
      is_short ? CeilDiv<int64_t>(rows, lanes) * count : rows * CeilDiv<int64_t>(count, lanes);
  context.terms.Add("vectors", static_cast<double>(vectors));
  context.terms.Add("short_row_elements", is_short ? static_cast<double>(rows * count) : 0.0);
  context.terms.Add("elements", static_cast<double>(rows * count));
  AddActivationTraffic(context);
}

}  // namespace

void Softmax(const Context& context) {
  AddRows(context, context.call().AttributesAs<SoftmaxAttributes>().axis);
}
void ChannelSoftmax(const Context& context) { Softmax(context); }
void LayerNorm(const Context& context) {
  if (context.call().AttributesAs<LayerNormAttributes>().rms != 0) context.terms.model += " rms";
  AddRows(context, context.call().Input(0).rank - 1);
}

}  // namespace tenon::converter::features
