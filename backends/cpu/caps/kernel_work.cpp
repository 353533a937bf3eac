#include "backends/cpu/caps/kernel_work.hpp"

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu {
namespace {

/// Each of 36 coefficients of a tile of 16 outputs is one product of all inputs with all outputs.
/// The transforms, vector arithmetic too, take as long as so many products for a coefficient of a
/// channel, and reading a weight as long as so many: measured in ResNet-50, DenseNet-121 and
/// GoogLeNet on Zen 3 and Zen 4 (AVX2).
int64_t WinogradProducts(const OpCall& call) {
  constexpr int64_t kForTransforms = 20;
  constexpr int64_t kForWeights = 6;
  const f32::WinogradBlocks blocks = f32::WinogradBlocksOf(call);
  const int64_t inputs = call.Input(0).dims[1];
  const int64_t outputs = call.Output().dims[1];
  const int64_t transformed = blocks.padded_inputs + RoundUp<int64_t>(outputs, f32::kWidthStep);
  return int64_t{kWinogradCoefficients} * ((blocks.tiles + kForWeights) * inputs * outputs +
                                           blocks.tiles * kForTransforms * transformed);
}

/// Returns the kernel's rows that an output row reads inside the image, counted over all of them.
int64_t RowsInside(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  int64_t rows = 0;
  for (int64_t row = 0; row < call.Output().dims[2]; ++row) {
    const int64_t top = row * attributes.strides[0] - attributes.pads[0];
    for (int64_t tap = 0; tap < call.Input(1).dims[2]; ++tap) {
      if (top + tap >= 0 && top + tap < call.Input(0).dims[2]) ++rows;
    }
  }
  return rows;
}

/// Compact loops leave out the kernel's rows outside the image, and take two vectors at once: one
/// alone takes as long, since each of its sums waits for the one before.
int64_t DepthwiseProducts(const OpCall& call) {
  constexpr int32_t kChannels = 16;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(1);
  const TensorView& y = call.Output();
  const bool compact =
      attributes.group == y.dims[1] &&
      f32::IsCompactDepthwise(w.dims + 2, attributes.strides, attributes.dilations);
  if (!compact) return -1;
  return int64_t{y.dims[0]} * y.dims[3] * RoundUp<int64_t>(y.dims[1], kChannels) * w.dims[3] *
         RowsInside(call);
}

struct Row {
  const char* kernel;
  int64_t (*products)(const OpCall& call);
};

constexpr Row kRows[] = {{"cpu.conv.vector_winograd", WinogradProducts},
                         {"cpu.conv.vector_depthwise", DepthwiseProducts}};

}  // namespace

int64_t OwnProducts(const char* name, const OpCall& call) {
  for (const Row& row : kRows) {
    if (NamesKernel(name, row.kernel)) return row.products(call);
  }
  return -1;
}

}  // namespace tenon::cpu
