// Models kernels on bytes: products four bytes deep and 16 channels wide, and elementwise work.
#include <algorithm>
#include <iterator>

#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "backends/cpu/caps/tiles.hpp"
#include "converter/cost/features_kernels.hpp"
#include "runtime/base/loop_nest.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::converter::features {
namespace {

using cpu::q8::kDepthStep;
constexpr int64_t kChannelStep = cpu::q8::kWidthStep;  // lanes of a register of sums
constexpr int64_t kLoneRegisters = 4;                  // of a tile of one pixel
constexpr int64_t kDepthwiseStep = 64;                 // channels in one register of bytes

struct QuantizedGemm {
  int64_t pixels = 0;
  int64_t groups = 1;
  int64_t outputs = 0;  ///< of one group
  int64_t depth = 0;
  int64_t taps = 1;
};

void AddGemm(const Context& context, const QuantizedGemm& gemm) {
  const int64_t width = RoundUp<int64_t>(gemm.outputs, kChannelStep);
  const int64_t depth = RoundUp<int64_t>(gemm.depth, kDepthStep);
  const auto pixels = static_cast<double>(gemm.pixels * gemm.groups);
  const double steps = pixels * static_cast<double>(width * depth * gemm.taps) /
                       static_cast<double>(kChannelStep * kDepthStep);
  const int64_t registers = width / kChannelStep;
  CostTerms& terms = context.terms;
  terms.Add("tile_cycles", steps);
  // Each sum of a single pixel waits for the one before; four registers of them go on side by side.
  const int64_t chains = CeilDiv<int64_t>(registers, kLoneRegisters);
  const int64_t steps_of_sum = gemm.taps * (depth / kDepthStep);
  const int64_t lone_steps = gemm.pixels == 1 ? gemm.groups * chains * steps_of_sum : 0;
  terms.Add("lone_steps", static_cast<double>(lone_steps));
  terms.Add("pixel_taps", pixels * static_cast<double>(gemm.taps));
  terms.Add("output_vectors", pixels * static_cast<double>(registers));
  terms.Add("weight_bytes", static_cast<double>(width * depth * gemm.taps * gemm.groups));
}

/// Adds the cost of fixed-point factors, several times that of a float product.
void AddRescaled(const Context& context, Rounding rounding) {
  const auto outputs = static_cast<double>(context.call().Output().Elements());
  context.terms.Add("fixed_point_outputs", rounding == Rounding::kHalfEven ? 0.0 : outputs);
}

/// Returns true if each image has one window and no padding, as a step of a stream has: kernels
/// then go from tap to tap, without rows and columns of pixels.
bool HasOneWindow(const ConvAttributes& conv, const TensorView& y) {
  const bool is_padded =
      std::any_of(std::begin(conv.pads), std::end(conv.pads), [](int32_t pad) { return pad != 0; });
  return y.dims[2] == 1 && y.dims[3] == 1 && !is_padded;
}

void AddDepthwise(const Context& context, const ConvAttributes& conv) {
  const TensorView& w = context.call().Input(GemmInput::kWeights);
  const TensorView& y = context.call().Output();
  const bool one_window = HasOneWindow(conv, y);
  const int64_t all_taps = int64_t{w.dims[2]} * w.dims[3];
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  // Instruction sets without registers of 64 bytes take 16 channels at a time.
  const int64_t blocks = CeilDiv<int64_t>(y.dims[1], kChannelStep);
  CostTerms& terms = context.terms;
  const auto add = [&](const char* name, int64_t amount) {
    terms.Add(name, static_cast<double>(amount));
  };
  if (one_window) {
    terms.model += " window";
    add("pixels", pixels);
    add("pixel_vectors", pixels * blocks);
    add("tap_vectors", pixels * blocks * all_taps);
    return;
  }
  // Columns of 3x3 windows are shared, if strides are 1 by two windows more.
  const bool shares_columns = cpu::q8::IsDepthwise3x3(context.call());
  const int64_t columns = conv.strides[1] == 1 ? 3 : 4;
  const int64_t steps = shares_columns ? columns : CeilDiv<int64_t>(all_taps, kDepthStep);
  const int64_t vectors =
      y.dims[1] / kDepthwiseStep + CeilDiv<int64_t>(y.dims[1] % kDepthwiseStep, kDepthwiseStep / 2);
  // An image of one column is computed as a row.
  const int64_t rows = y.dims[3] == 1 ? y.dims[0] : int64_t{y.dims[0]} * y.dims[2];
  terms.model += shares_columns ? " columns" : " depthwise";
  add("rows", rows * vectors);
  add("pixel_blocks", pixels * blocks);
  add("pixel_vectors", pixels * vectors);
  add("tap_blocks", pixels * blocks * steps);
  add("tap_vectors", pixels * vectors * steps);
}

}  // namespace

void QuantizedConv(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const int32_t group = attributes.conv.group;
  if (group > 1 && group == call.Input(GemmInput::kX).dims[1]) {
    AddDepthwise(context, attributes.conv);
  } else {
    QuantizedGemm gemm;
    gemm.pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
    gemm.groups = group;
    gemm.outputs = w.dims[0] / group;
    const int64_t columns = cpu::q8::ColumnsOfTap(call);
    gemm.depth = w.dims[1] * columns;
    gemm.taps = int64_t{w.dims[2]} * w.dims[3] / columns;
    AddGemm(context, gemm);
    const int64_t copied = cpu::q8::IsDirect(call) ? 0 : call.Input(GemmInput::kX).Elements();
    context.terms.Add("copied", static_cast<double>(copied));
  }
  AddRescaled(context, attributes.output.rounding);
  AddActivationTraffic(context);
}

/// Its products are of numbers of 16 bits, half as many at a time.
void QuantizedWinograd(const Context& context) {
  const OpCall& call = context.call();
  const cpu::q8::WinogradCut cut = cpu::q8::WinogradCutOf(call);
  const auto tiles = static_cast<double>(cut.tiles);
  const int64_t products = int64_t{kWinogradCoefficients} * cut.numbers * cut.outputs;
  const int64_t output_vectors = cut.outputs / kChannelStep;
  CostTerms& terms = context.terms;
  terms.Add("tile_cycles",
            tiles * static_cast<double>(products) / static_cast<double>(kChannelStep * 2));
  terms.Add("input_vectors",
            tiles * static_cast<double>(CeilDiv<int64_t>(cut.numbers, kChannelStep)));
  terms.Add("output_vectors", tiles * static_cast<double>(output_vectors));
  terms.Add("weight_bytes", static_cast<double>(products * 2));
  AddRescaled(context, call.AttributesAs<QuantizedConvAttributes>().output.rounding);
  AddActivationTraffic(context);
}

void QuantizedMatMul(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& a = call.Input(GemmInput::kX);
  QuantizedGemm gemm;
  gemm.depth = a.dims[a.rank - 1 - attributes.matmul.transpose_a];
  gemm.outputs = call.Output().dims[call.Output().rank - 1];
  gemm.pixels = call.Output().Elements() / std::max<int64_t>(gemm.outputs, 1);
  if (call.Input(GemmInput::kWeights).data == nullptr) {
    // Each batch has a second factor of its own, which is packed.
    const int64_t rows = a.dims[a.rank - 2 + attributes.matmul.transpose_a];
    gemm.groups = gemm.pixels / std::max<int64_t>(rows, 1);
    gemm.pixels = rows;
  }
  AddGemm(context, gemm);
  AddRescaled(context, attributes.output.rounding);
  AddActivationTraffic(context);
}

void DynamicMatMul(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& a = call.Input(GemmInput::kX);
  QuantizedGemm gemm;
  gemm.depth = a.dims[a.rank - 1];
  gemm.outputs = call.Output().dims[call.Output().rank - 1];
  gemm.pixels = call.Output().Elements() / std::max<int64_t>(gemm.outputs, 1);
  AddGemm(context, gemm);
  context.terms.Add("elements", static_cast<double>(a.Elements()));
  context.terms.Add("scaled", static_cast<double>(call.Output().Elements()));
  AddActivationTraffic(context);
}

void QuantizedElements(const Context& context) {
  const OpCall& call = context.call();
  context.terms.Add("elements", static_cast<double>(call.Output().Elements()));
  // Rows with gaps between their elements, on either side, go through a buffer one by one.
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], y.strides[k], BroadcastStride(x, y.rank, k));
  }
  nest.Simplify();
  nest.LengthenRows();
  const bool apart = nest.rank > 0 && (nest.RowStride(0) != 1 || nest.RowStride(1) != 1);
  const auto elements = static_cast<double>(y.Elements());
  context.terms.Add("rows", elements / nest.RowLength());
  context.terms.Add("elements_apart", apart ? elements : 0.0);
  AddActivationTraffic(context);
}

void QuantizedBinary(const Context& context) {
  QuantizedElements(context);
  AddRescaled(context, context.call().AttributesAs<QuantizedBinaryAttributes>().output.rounding);
}

void QuantizedReduce(const Context& context) {
  const OpCall& call = context.call();
  context.terms.Add("inputs", static_cast<double>(call.Input(0).Elements()));
  context.terms.Add("outputs", static_cast<double>(call.Output().Elements()));
  AddActivationTraffic(context);
}

void QuantizedSoftmax(const Context& context) {
  QuantizedElements(context);
  AddRescaled(context, context.call().AttributesAs<QuantizedSoftmaxAttributes>().output.rounding);
}

}  // namespace tenon::converter::features
