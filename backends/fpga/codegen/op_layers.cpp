#include "backends/fpga/codegen/op_layers.hpp"

#include <algorithm>
#include <cstring>

#include "backends/fpga/caps/gemm_refusals.hpp"
#include "backends/fpga/caps/supports.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::fpga {
namespace {

using In = QuantizedGemmInput;

constexpr int32_t kTopBit = 128;

int32_t FlipOf(DType dtype) { return dtype == DType::kU8 ? kTopBit : 0; }

uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Bounds and zero point as stored.
template <typename Target>
void SetOutput(const QuantizedOutput& output, Target& target) {
  const int32_t flip = FlipOf(static_cast<DType>(output.to));
  target.zero_point = output.zero_point - flip;
  target.min = output.min - flip;
  target.max = output.max - flip;
}

void SetWindow(const OpCall& call, const int32_t* kernel, const int32_t* strides,
               const int32_t* dilations, const int32_t* pads, Window& window) {
  for (int i = 0; i < 2; ++i) {
    window.kernel[i] = kernel[i];
    window.strides[i] = strides[i];
    window.dilations[i] = dilations[i];
    window.pads[i] = pads[i];
    // One position: how the window would move on does not matter.
    if (call.Output().dims[2 + i] == 1) window.strides[i] = 1;
    if (kernel[i] == 1) window.dilations[i] = 1;
  }
}

/// Biases with the zero point of x taken off, and factors. `sum_of`: of an output's weights.
template <typename SumOf>
void SetGemmOutput(const OpCall& call, const QuantizedOutput& output, int channels,
                   const SumOf& sum_of, Requantise& to) {
  const int32_t zero = ZeroPointOf(call, In::kXZeroPoint) - FlipOf(call.Input(In::kX).dtype);
  const TensorView& multiplier = call.Input(In::kMultiplier);
  const bool one_factor = multiplier.Elements() == 1;
  to.rounding = output.rounding;
  SetOutput(output, to);
  for (int m = 0; m < channels; ++m) {
    uint32_t bias = 0;
    if (call.HasInput(In::kBias)) {
      const TensorView& biases = call.Input(In::kBias);
      bias =
          biases.As<const uint32_t>()[m * (biases.rank == 0 ? 0 : biases.strides[biases.rank - 1])];
    }
    bias -= static_cast<uint32_t>(zero) * static_cast<uint32_t>(sum_of(m));
    to.bias.push_back(static_cast<int32_t>(bias));
    const int k = one_factor ? 0 : m;
    to.multipliers.push_back(multiplier.As<const uint32_t>()[k]);
    to.shifts.push_back(output.rounding == Rounding::kHalfEven
                            ? int8_t{0}
                            : call.Input(In::kShift).As<const int8_t>()[one_factor ? 0 : k]);
  }
}

/// Factors are below 1: of a larger one the sum takes the powers of two, as weights.
void LessenFactor(Layer& layer, size_t channels) {
  float factor = 0;
  std::memcpy(&factor, layer.requantise.multipliers.data(), sizeof factor);
  int weight = 1;
  for (; factor >= 1.0F && weight < 64; weight *= 2) factor /= 2;
  if (weight == 1) return;
  layer.kind = LayerKind::kDepthwise;
  layer.weights.assign(channels * static_cast<size_t>(layer.Taps()), static_cast<int8_t>(weight));
  for (int32_t& bias : layer.requantise.bias) bias *= weight;
  std::fill(layer.requantise.multipliers.begin(), layer.requantise.multipliers.end(),
            BitsOf(factor));
}

/// A sum of bytes, less `count` times the zero point of x, times a factor.
void SetSumOutput(int32_t x_zero_point, DType x, int count, int channels,
                  const QuantizedOutput& output, Rounding rounding, uint32_t multiplier,
                  int32_t shift, Layer& layer) {
  const int32_t zero = x_zero_point - FlipOf(x);
  layer.kind = LayerKind::kSum;
  layer.window.padding = static_cast<int8_t>(zero);
  const auto k = static_cast<size_t>(channels);
  layer.requantise.rounding = rounding;
  SetOutput(output, layer.requantise);
  layer.requantise.bias.assign(k, -zero * count);
  layer.requantise.multipliers.assign(k, multiplier);
  layer.requantise.shifts.assign(k, static_cast<int8_t>(shift));
  if (rounding == Rounding::kHalfEven) LessenFactor(layer, k);
}

}  // namespace

void ConvLayer(const OpCall& call, Layer& layer) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  const int outputs = w.dims[0];
  const int inputs = w.dims[1];
  const int taps = w.dims[2] * w.dims[3];
  layer.kind = IsDepthwise(call) ? LayerKind::kDepthwise : LayerKind::kConv;
  SetWindow(call, w.dims + 2, attributes.conv.strides, attributes.conv.dilations,
            attributes.conv.pads, layer.window);
  layer.window.padding =
      static_cast<int8_t>(ZeroPointOf(call, In::kXZeroPoint) - FlipOf(call.Input(In::kX).dtype));
  layer.weights.resize(static_cast<size_t>(w.Elements()));
  std::vector<int32_t> sums(static_cast<size_t>(outputs));
  for (int m = 0; m < outputs; ++m) {
    for (int c = 0; c < inputs; ++c) {
      for (int t = 0; t < taps; ++t) {
        const int value = WeightValue(call, (int64_t{m} * inputs + c) * taps + t, m);
        layer
            .weights[(static_cast<size_t>(m) * static_cast<size_t>(taps) + static_cast<size_t>(t)) *
                         static_cast<size_t>(inputs) +
                     static_cast<size_t>(c)] = static_cast<int8_t>(value);
        sums[static_cast<size_t>(m)] += value;
      }
    }
  }
  SetGemmOutput(
      call, attributes.output, outputs, [&](int m) { return sums[static_cast<size_t>(m)]; },
      layer.requantise);
}

void MatMulLayer(const OpCall& call, int height, int width, Layer& layer) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& b = call.Input(In::kWeights);
  const bool transposed = attributes.matmul.transpose_b != 0;
  const int depth = b.dims[b.rank - (transposed ? 1 : 2)];
  const int outputs = b.dims[b.rank - (transposed ? 2 : 1)];
  layer.kind = LayerKind::kConv;
  layer.window.kernel[0] = height;
  layer.window.kernel[1] = width;
  layer.weights.resize(static_cast<size_t>(b.Elements()));
  std::vector<int32_t> sums(static_cast<size_t>(outputs));
  for (int m = 0; m < outputs; ++m) {
    for (int k = 0; k < depth; ++k) {
      const int64_t index = transposed ? int64_t{m} * depth + k : int64_t{k} * outputs + m;
      const int value = WeightValue(call, index, m);
      layer.weights[static_cast<size_t>(m) * static_cast<size_t>(depth) + static_cast<size_t>(k)] =
          static_cast<int8_t>(value);
      sums[static_cast<size_t>(m)] += value;
    }
  }
  SetGemmOutput(
      call, attributes.output, outputs, [&](int m) { return sums[static_cast<size_t>(m)]; },
      layer.requantise);
}

void MaxPoolLayer(const OpCall& call, Layer& layer) {
  const auto& pool = call.AttributesAs<PoolAttributes>();
  layer.kind = LayerKind::kMaxPool;
  SetWindow(call, pool.kernel, pool.strides, pool.dilations, pool.pads, layer.window);
  layer.window.padding = -128;
}

std::optional<float> AverageFactor(int count) {
  // A little more than 1 / count, so that halves go away from zero: far less than what the next
  // sum is away.
  const auto factor = static_cast<float>((1.0 + 1.0 / (1 << 20)) / count);
  for (int32_t sum = -255 * count; sum <= 255 * count; ++sum) {
    if (RoundHalfEven(static_cast<float>(sum) * factor) != DivideHalfAway(sum, count)) return {};
  }
  return factor;
}

void AveragePoolLayer(const OpCall& call, Layer& layer) {
  const auto& attributes = call.AttributesAs<QuantizedAveragePoolAttributes>();
  const PoolAttributes& pool = attributes.pool;
  const int count = AveragedElements(call);
  SetWindow(call, pool.kernel, pool.strides, pool.dilations, pool.pads, layer.window);
  const float factor = attributes.output.rounding == Rounding::kHalfAway
                           ? AverageFactor(count).value_or(0.0F)
                           : attributes.scale.scale / static_cast<float>(count);
  SetSumOutput(attributes.x_zero_point, call.Input(0).dtype, count, call.Input(0).dims[1],
               attributes.output, Rounding::kHalfEven, BitsOf(factor), 0, layer);
}

void MeanLayer(const OpCall& call, Layer& layer) {
  const auto& attributes = call.AttributesAs<QuantizedReduceAttributes>();
  const TensorView& x = call.Input(0);
  layer.window.kernel[0] = x.dims[2];
  layer.window.kernel[1] = x.dims[3];
  const bool is_float = attributes.output.rounding == Rounding::kHalfEven;
  SetSumOutput(attributes.x_zero_point, x.dtype, x.dims[2] * x.dims[3], x.dims[1],
               attributes.output, attributes.output.rounding,
               is_float ? BitsOf(attributes.scale.scale)
                        : static_cast<uint32_t>(attributes.scale.multiplier),
               is_float ? 0 : attributes.scale.shift, layer);
}

void IdentityLayer(int channels, Layer& layer) {
  constexpr int8_t kTwo = 2;
  constexpr float kHalf = 0.5F;  // factors are below 1
  layer.kind = LayerKind::kDepthwise;
  layer.weights.assign(static_cast<size_t>(channels), kTwo);
  layer.requantise.bias.assign(static_cast<size_t>(channels), 0);
  layer.requantise.multipliers.assign(static_cast<size_t>(channels), BitsOf(kHalf));
  layer.requantise.shifts.assign(static_cast<size_t>(channels), 0);
}

std::array<int8_t, 256> LookupTable(const OpCall& call) {
  const TensorView& table = call.Input(LookupInput::kTable);
  const int32_t flip = FlipOf(table.dtype);
  std::array<int8_t, 256> entries{};
  // Entry 0 is of -128, or of the 0 that is stored as -128.
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = static_cast<int8_t>(ByteAt(table, static_cast<int64_t>(i)) - flip);
  }
  return entries;
}

bool MakeResidual(const OpCall& call, bool swapped, Residual& residual) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  const AddOffsets offsets = {FlipOf(call.Input(BinaryInput::kX).dtype),
                              FlipOf(call.Input(BinaryInput::kY).dtype),
                              FlipOf(call.Output().dtype)};
  std::optional<AddTables> tables = MakeAddTables(attributes, offsets);
  if (!tables) return false;
  if (swapped) std::swap(tables->x, tables->y);
  residual.tables = *tables;
  residual.rounding = attributes.output.rounding;
  residual.multiplier = attributes.output_scale.multiplier;
  residual.shift = attributes.output_scale.shift;
  SetOutput(attributes.output, residual);
  return true;
}

}  // namespace tenon::fpga
