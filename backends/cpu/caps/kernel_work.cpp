#include "backends/cpu/caps/kernel_work.hpp"

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu {
namespace {

int64_t WinogradProducts(const OpCall& call, bool /*wide_bytes*/) {
  return f32::WinogradProducts(call);
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
/// alone takes as long, since each of its sums waits for the one before. Of groups, whose vectors
/// are spread channel by channel, products take a quarter longer, and an output as long as some:
/// fitted to 17 shapes on Zen 4 (AVX-512), 12 % apart on the mean.
int64_t DepthwiseProducts(const OpCall& call, bool /*wide_bytes*/) {
  constexpr int32_t kChannels = 16;
  constexpr int64_t kOfGroupsOutput = 6;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(1);
  const TensorView& y = call.Output();
  if (f32::FewGroupChannels(call) > 1) {
    const int64_t products = int64_t{w.dims[1]} * w.dims[2] * w.dims[3];
    return int64_t{y.dims[0]} * y.dims[2] * y.dims[3] * RoundUp<int64_t>(y.dims[1], kChannels) *
           (products * 5 / 4 + kOfGroupsOutput);
  }
  const bool compact =
      attributes.group == y.dims[1] &&
      f32::IsCompactDepthwise(w.dims + 2, attributes.strides, attributes.dilations);
  if (!compact) return -1;
  return int64_t{y.dims[0]} * y.dims[3] * RoundUp<int64_t>(y.dims[1], kChannels) * w.dims[3] *
         RowsInside(call);
}

int64_t NarrowProducts(const OpCall& call, bool /*wide_bytes*/) {
  const TensorView& y = call.Output();
  return int64_t{y.dims[0]} * y.dims[2] * y.dims[3] * f32::NarrowConvProducts(call);
}

int64_t PixelProducts(const OpCall& call, bool /*wide_bytes*/) {
  return f32::PixelConvProducts(call);
}

/// Sums along rows end with sums over lanes, but of short rows many at once do: fitted to 20 shapes
/// on Zen 4 (AVX-512).
int64_t ColumnProducts(const OpCall& call, bool /*wide_bytes*/) {
  constexpr int64_t kOfCall = 600;
  constexpr int64_t kOfRow = 120;
  constexpr int64_t kOfShortRow = 12;
  const TensorView& a = call.Input(MatMulInput::kX);
  const TensorView& y = call.Output();
  const int64_t depth = a.dims[a.rank - 1];
  const int64_t rows = y.dims[y.rank - 2];
  const bool is_short = (depth == 4 || depth == 8 || depth == 16) && rows >= 16;
  return y.Elements() * (2 * depth + (is_short ? kOfShortRow : kOfRow)) +
         y.Elements() / (rows > 0 ? rows : 1) * kOfCall;
}

/// Outputs are counted as the board's rate counts them, without the padding of their channels.
int64_t QuantizedWinogradProducts(const OpCall& call, bool /*wide_bytes*/) {
  const int64_t outputs = call.Output().dims[1];
  return q8::WinogradProducts(call) * outputs / RoundUp<int64_t>(outputs, q8::kWinogradWidth);
}

/// Of registers of 64 channels, in products at 70 a nanosecond: fitted to the ops of the sweep of
/// `tenon profile` on Zen 4 (AVX-512), from which they are 5 % apart. A block of 16 or 32 channels
/// takes nearly as long as one of 64, since most of it is loads and interleaving.
int64_t QuantizedDepthwiseProducts(const OpCall& call, bool wide_bytes) {
  struct Cost {
    int64_t of_block;
    int64_t of_channels;  ///< 64 of them
  };
  constexpr int64_t kChannels = 64;
  constexpr int64_t kNarrowest = 16;
  constexpr int64_t kOfRow = 1700;
  constexpr Cost kOfPixel = {190, 70};
  constexpr Cost kOfFourTaps = {157, 59};
  constexpr Cost kOfColumns = {310, 257};  // of 3x3 windows, which share columns
  constexpr Cost kOfStridedColumns = {407, 280};
  constexpr Cost kOfFixedPoint = {100, 350};
  if (!wide_bytes) return -1;
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(QuantizedGemmInput::kWeights);
  const TensorView& y = call.Output();
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  const int64_t channels = RoundUp<int64_t>(y.dims[1], kNarrowest);
  // As blocks are made: the last ones are of 32 and 16 channels.
  const int64_t blocks =
      channels / kChannels + (channels % kChannels + kChannels / 2 - 1) / (kChannels / 2);
  const auto cost = [&](const Cost& of) {
    return of.of_block * blocks + of.of_channels * channels / kChannels;
  };
  int64_t of_pixel = 0;
  if (q8::IsDepthwise3x3(call)) {
    of_pixel = cost(attributes.conv.strides[1] == 1 ? kOfColumns : kOfStridedColumns);
  } else {
    const int64_t groups = CeilDiv<int64_t>(int64_t{w.dims[2]} * w.dims[3], 4);
    of_pixel = cost(kOfPixel) + groups * cost(kOfFourTaps);
  }
  if (attributes.output.rounding != Rounding::kHalfEven) of_pixel += cost(kOfFixedPoint);
  // An image of one column is computed as a row, and one of a pixel without rows.
  const int64_t rows =
      y.dims[3] == 1 ? (y.dims[2] == 1 ? 0 : y.dims[0]) : int64_t{y.dims[0]} * y.dims[2];
  return pixels * of_pixel + kOfRow * rows * blocks;
}

// Elementary operations of kernels on bytes, at 16 a nanosecond: fitted to the ops of Keras's
// networks in int8 on Zen 4 (AVX2), three thousand of them.

/// What finding an op's operands takes beside the start that all ops have.
constexpr int64_t kOfCall = 500;

/// Returns those of an output of a product: fixed point takes several instructions.
int64_t OfSum(const QuantizedOutput& output) {
  return output.rounding == Rounding::kHalfEven ? 1 : 4;
}

/// Bytes are copied as they are where they are multiplied as such, a row of the window at a time,
/// and else widened.
int64_t CopyOps(const OpCall& call, bool wide_bytes) {
  constexpr int64_t kOfTap = 6;
  constexpr int64_t kOfWidenedByte = 2;
  if (q8::IsDirect(call)) return 0;
  const TensorView& w = call.Input(QuantizedGemmInput::kWeights);
  const TensorView& y = call.Output();
  if (!wide_bytes) return kOfWidenedByte * call.Input(0).Elements();
  return kOfTap * y.dims[0] * y.dims[2] * y.dims[3] * w.dims[2] * w.dims[3];
}

int64_t QuantizedConvOps(const OpCall& call, bool wide_bytes) {
  constexpr int64_t kOfPixel = 32;
  const int64_t of_sum = OfSum(call.AttributesAs<QuantizedConvAttributes>().output);
  const TensorView& y = call.Output();
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  return kOfCall + pixels * (kOfPixel + of_sum * RoundUp<int64_t>(y.dims[1], q8::kWidthStep)) +
         CopyOps(call, wide_bytes);
}

int64_t QuantizedMatMulOps(const OpCall& call, bool /*wide_bytes*/) {
  const int64_t of_sum = OfSum(call.AttributesAs<QuantizedMatMulAttributes>().output);
  return kOfCall + of_sum * call.Output().Elements();
}

/// Winograd's products have what outputs take in them.
int64_t CallOps(const OpCall& /*call*/, bool /*wide_bytes*/) { return kOfCall; }

template <int64_t kOfOutput>
int64_t OutputOps(const OpCall& call, bool /*wide_bytes*/) {
  return kOfOutput * call.Output().Elements();
}

template <int64_t kOfInput, int64_t kOfOutput>
int64_t ReducingOps(const OpCall& call, bool /*wide_bytes*/) {
  return kOfInput * call.Input(0).Elements() + kOfOutput * call.Output().Elements();
}

/// Returns the product, or where that is larger, a number of which four can be added up.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = INT64_MAX / 4;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMost ? kMost : product;
}

/// Returns the most positions of a pool's window that lie inside the image along axis `i`: it may
/// be many times as long.
int64_t WindowInside(const OpCall& pool, int i) {
  const int32_t window = pool.AttributesAs<PoolAttributes>().kernel[i];
  const int32_t image = pool.Input(0).dims[2 + i];
  return window < image ? window : image;
}

int64_t AveragePoolOps(const OpCall& call, bool /*wide_bytes*/) {
  constexpr int64_t kOfTap = 1;
  constexpr int64_t kOfSumOfTaps = 12;
  const int64_t taps = WindowInside(call, 0) * WindowInside(call, 1);
  return Times(kOfTap * taps + kOfSumOfTaps, call.Output().Elements());
}

/// Rows are gone over three times, or twice without a mean: fitted to the sweep of `tenon profile`
/// on Zen 4 (AVX-512), 10 % apart on the mean.
int64_t LayerNormOps(const OpCall& call, bool /*wide_bytes*/) {
  struct Cost {
    int64_t of_row;
    int64_t of_ten_elements;
  };
  constexpr Cost kWithMean = {170, 22};
  constexpr Cost kWithoutMean = {90, 18};
  const TensorView& x = call.Input(0);
  const int64_t elements = x.Elements();
  if (elements == 0) return 0;
  const bool is_rms = call.AttributesAs<LayerNormAttributes>().rms != 0;
  const Cost& cost = is_rms ? kWithoutMean : kWithMean;
  return cost.of_row * (elements / x.dims[x.rank - 1]) + cost.of_ten_elements * elements / 10;
}

/// Each window is one call, whose vectors fewer channels do not fill; maxima of few channels are
/// taken along rows, of which each element counts as some: fitted to the sweep of `tenon profile`
/// on Zen 4 (AVX-512), 28 to 39 % apart on the mean.
template <bool kIsMaximum>
int64_t PoolOps(const OpCall& call, bool /*wide_bytes*/) {
  constexpr int64_t kOfWindow = 64;
  constexpr int64_t kOfElement = 3;
  constexpr int64_t kChannels = 16;
  const TensorView& y = call.Output();
  const int64_t rows = WindowInside(call, 0);
  const int64_t columns = WindowInside(call, 1);
  if (kIsMaximum && y.dims[1] <= f32::kMostRowMaximaChannels) {
    const int64_t stride = call.AttributesAs<PoolAttributes>().strides[1];
    return Times(kOfElement * y.Elements(), rows * stride + columns);
  }
  const int64_t windows = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  const int64_t channels = RoundUp<int64_t>(y.dims[1], kChannels);
  return Times(windows, kOfWindow + Times(rows * columns, channels));
}

/// The best alone, as of classes, or several, which are kept in order.
int64_t TopKOps(const OpCall& call, bool wide_bytes) {
  const bool is_one = call.AttributesAs<TopKAttributes>().count == 1;
  return is_one ? ReducingOps<9, 75>(call, wide_bytes) : ReducingOps<10, 450>(call, wide_bytes);
}

/// Each point's pixels are found, and are blended channel by channel: where these lie side by side,
/// in vectors. Measured on Zen 4, 12 shapes of 1 to 64 channels.
template <int64_t kOfPoint, int64_t kOfDenseTap, int64_t kOfTap>
int64_t GridSampleOps(const OpCall& call, bool /*wide_bytes*/) {
  constexpr int64_t kTaps[] = {1, 4, 16};
  const auto& attributes = call.AttributesAs<GridSampleAttributes>();
  const TensorView& x = call.Input(GridSampleInput::kX);
  const TensorView& y = call.Output();
  const bool is_dense = y.dims[1] > 1 && x.strides[1] == 1 && y.strides[1] == 1;
  const int64_t of_element =
      kTaps[static_cast<int>(attributes.mode)] * (is_dense ? kOfDenseTap : kOfTap);
  return call.Input(GridSampleInput::kGrid).Elements() / 2 * kOfPoint +
         y.Elements() * of_element / 4;
}

struct Row {
  const char* kernel;
  int64_t (*amount)(const OpCall& call, bool wide_bytes);
};

constexpr Row kProducts[] = {
    {"cpu.conv.vector_winograd", WinogradProducts},
    {"cpu.conv.vector_depthwise", DepthwiseProducts},
    {"cpu.conv.vector_narrow", NarrowProducts},
    {"cpu.conv.vector_pixels", PixelProducts},
    {"cpu.matmul.vector_column", ColumnProducts},
    {"cpu.quantized_conv.vector_winograd", QuantizedWinogradProducts},
    {"cpu.quantized_conv.bytes_depthwise", QuantizedDepthwiseProducts},
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
    {"cpu.layer_norm.vector", LayerNormOps},
    {"cpu.max_pool.vector", PoolOps<true>},
    {"cpu.average_pool.vector", PoolOps<false>},
    {"cpu.top_k.portable", TopKOps},
    {"cpu.grid_sample.vector", GridSampleOps<15, 1, 11>},
    {"cpu.grid_sample.portable", GridSampleOps<125, 4, 36>},
};

struct Start {
  const char* kernel;
  double share;
};

/// Measured on one core (Zen 4): the starts of the sweep of `tenon profile`, and recurrent networks
/// of 120 ops, whose data stays near.
constexpr Start kStarts[] = {
    {"cpu.lookup.bytes", 0.65},           {"cpu.dequantize.bytes", 0.8},
    {"cpu.reshape.portable", 0.6},        {"cpu.quantize.bytes", 1.3},
    {"cpu.quantized_conv.vector", 0.9},   {"cpu.quantized_conv.bytes_depthwise", 1.3},
    {"cpu.quantized_matmul.vector", 1.6}, {"cpu.quantized_softmax.bytes", 2.4},
    {"cpu.conv.vector_narrow", 1.6},      {"cpu.softmax.vector", 1.9},
};

template <size_t kCount>
int64_t AmountOf(const Row (&rows)[kCount], const char* name, const OpCall& call, bool wide_bytes) {
  for (const Row& row : rows) {
    if (NamesKernel(name, row.kernel)) return row.amount(call, wide_bytes);
  }
  return -1;
}

}  // namespace

double StartShare(const char* name) {
  for (const Start& start : kStarts) {
    if (NamesKernel(name, start.kernel)) return start.share;
  }
  return 1;
}

int64_t WeightBytesAgain(const char* name, const OpCall& call, int64_t cache_bytes) {
  if (!NamesKernel(name, "cpu.conv.vector_winograd")) return 0;
  return f32::WinogradWeightBytesAgain(call, cache_bytes);
}

int64_t OwnProducts(const char* name, const OpCall& call, bool wide_bytes) {
  return AmountOf(kProducts, name, call, wide_bytes);
}

int64_t OwnElementaryOps(const char* name, const OpCall& call, bool wide_bytes) {
  return AmountOf(kElementaryOps, name, call, wide_bytes);
}

}  // namespace tenon::cpu
