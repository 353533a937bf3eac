#include "backends/cpu/caps/kernel_work.hpp"

#include <cstddef>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
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

/// Outputs are counted as the board's rate counts them, without the padding of their channels.
int64_t QuantizedWinogradProducts(const OpCall& call) {
  const int64_t outputs = call.Output().dims[1];
  return q8::WinogradProducts(call) * outputs / RoundUp<int64_t>(outputs, q8::kWinogradWidth);
}

// Elementary operations of kernels on bytes, at 16 a nanosecond: fitted to the ops of Keras's
// networks in int8 on Zen 4 (AVX2), three thousand of them.

/// What finding an op's operands takes beside the start that all ops have.
constexpr int64_t kOfCall = 1000;
/// Of an output of a product: its rounding in fixed point.
constexpr int64_t kOfSum = 4;

int64_t QuantizedConvOps(const OpCall& call) {
  constexpr int64_t kOfPixel = 32;
  constexpr int64_t kOfCopiedByte = 2;
  const TensorView& y = call.Output();
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  const int64_t copied = q8::IsDirect(call) ? 0 : call.Input(0).Elements();
  return kOfCall + pixels * (kOfPixel + kOfSum * RoundUp<int64_t>(y.dims[1], q8::kWidthStep)) +
         kOfCopiedByte * copied;
}

int64_t QuantizedMatMulOps(const OpCall& call) {
  return kOfCall + kOfSum * call.Output().Elements();
}

/// Winograd's products have what outputs take in them.
int64_t CallOps(const OpCall& /*call*/) { return kOfCall; }

template <int64_t kOfOutput>
int64_t OutputOps(const OpCall& call) {
  return kOfOutput * call.Output().Elements();
}

template <int64_t kOfInput, int64_t kOfOutput>
int64_t ReducingOps(const OpCall& call) {
  return kOfInput * call.Input(0).Elements() + kOfOutput * call.Output().Elements();
}

int64_t AveragePoolOps(const OpCall& call) {
  constexpr int64_t kOfTap = 1;
  constexpr int64_t kOfSumOfTaps = 12;
  const auto& pool = call.AttributesAs<PoolAttributes>();
  return (kOfTap * pool.kernel[0] * pool.kernel[1] + kOfSumOfTaps) * call.Output().Elements();
}

struct Row {
  const char* kernel;
  int64_t (*amount)(const OpCall& call);
};

constexpr Row kProducts[] = {
    {"cpu.conv.vector_winograd", WinogradProducts},
    {"cpu.conv.vector_depthwise", DepthwiseProducts},
    {"cpu.quantized_conv.vector_winograd", QuantizedWinogradProducts},
};

constexpr Row kElementaryOps[] = {
    {"cpu.quantized_conv.vector", QuantizedConvOps},
    {"cpu.quantized_conv.vector_winograd", CallOps},
    {"cpu.quantized_conv.bytes_depthwise", CallOps},
    {"cpu.quantized_matmul.vector", QuantizedMatMulOps},
    {"cpu.quantized_binary.bytes", OutputOps<4>},
    {"cpu.lookup.bytes", OutputOps<3>},
    {"cpu.quantize.bytes", OutputOps<6>},
    {"cpu.dequantize.bytes", OutputOps<2>},
    {"cpu.quantized_softmax.bytes", OutputOps<130>},
    {"cpu.quantized_reduce.bytes", ReducingOps<1, 30>},
    {"cpu.quantized_reduce.portable", ReducingOps<2, 80>},
    {"cpu.quantized_average_pool.bytes", AveragePoolOps},
};

template <size_t kCount>
int64_t AmountOf(const Row (&rows)[kCount], const char* name, const OpCall& call) {
  for (const Row& row : rows) {
    if (NamesKernel(name, row.kernel)) return row.amount(call);
  }
  return -1;
}

}  // namespace

int64_t OwnProducts(const char* name, const OpCall& call) {
  return AmountOf(kProducts, name, call);
}

int64_t OwnElementaryOps(const char* name, const OpCall& call) {
  return AmountOf(kElementaryOps, name, call);
}

}  // namespace tenon::cpu
