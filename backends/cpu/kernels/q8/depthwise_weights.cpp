#include "backends/cpu/kernels/q8/depthwise_weights.hpp"

#include <cmath>
#include <cstring>

#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

/// Returns element `i` of an optional vector of one element or one for each channel.
template <typename T>
T ElementOf(const OpCall& op, int input, int i) {
  if (!op.HasInput(input)) return T{};
  const TensorView& view = op.Input(input);
  const int at = view.dims[0] == 1 ? 0 : i;
  return view.As<const T>()[int64_t{at} * view.strides[0]];
}

int32_t ValueOf(DType dtype, uint8_t byte) {
  return dtype == DType::kI8 ? static_cast<int8_t>(byte) : byte;
}

/// Returns a weight less its channel's zero point.
int32_t WeightAt(const OpCall& op, int channel, int row, int column) {
  const TensorView& w = op.Input(In::kWeights);
  const uint8_t byte =
      w.As<const uint8_t>()[int64_t{channel} * w.strides[0] + int64_t{row} * w.strides[2] +
                            int64_t{column} * w.strides[3]];
  const int32_t value = ValueOf(w.dtype, byte);
  if (!op.HasInput(In::kWeightsZeroPoint)) return value;
  return value - ValueOf(w.dtype, ElementOf<uint8_t>(op, In::kWeightsZeroPoint, channel));
}

bool FitBytes(const OpCall& op) {
  const TensorView& w = op.Input(In::kWeights);
  if (w.dtype == DType::kI8 && !op.HasInput(In::kWeightsZeroPoint)) return true;
  for (int channel = 0; channel < w.dims[0]; ++channel) {
    for (int tap = 0; tap < w.dims[2] * w.dims[3]; ++tap) {
      const int32_t weight = WeightAt(op, channel, tap / w.dims[3], tap % w.dims[3]);
      if (weight < INT8_MIN || weight > INT8_MAX) return false;
    }
  }
  return true;
}

/// Returns the zero point's byte.
uint8_t PaddingOf(const OpCall& op, int channel) {
  return ElementOf<uint8_t>(op, In::kXZeroPoint, channel);
}

/// Returns the bias plus what the input's offset adds, where that offset is for bytes read as u8.
int32_t BiasOf(const OpCall& op, int channel, int32_t weight_sum) {
  const int32_t offset = PaddingOf(op, channel) ^ FlipToU8(op.Input(In::kX).dtype);
  const auto bias = static_cast<uint32_t>(ElementOf<int32_t>(op, In::kBias, channel));
  return static_cast<int32_t>(bias -
                              static_cast<uint32_t>(offset) * static_cast<uint32_t>(weight_sum));
}

FixedPointFactor FactorOf(const OpCall& op, int channel) {
  const int32_t shift = ElementOf<int8_t>(op, In::kShift, channel);
  return {ElementOf<int32_t>(op, In::kMultiplier, channel),
          shift > 30 ? 30 : (shift > 0 ? shift : 0), shift < -31 ? 31 : (shift < 0 ? -shift : 0)};
}

/// Returns true if the routines with registers give the right bits: their products must not
/// overflow.
bool IsTame(const OpCall& op, int channel) {
  const TensorView& w = op.Input(In::kWeights);
  constexpr double kAnySum = 2147483648.0;
  const double bias = std::abs(static_cast<double>(ElementOf<int32_t>(op, In::kBias, channel)));
  const double window = 255.0 * 255.0 * w.dims[2] * w.dims[3] + bias;
  const double most = window < kAnySum ? window : kAnySum;
  if (op.AttributesAs<QuantizedConvAttributes>().output.rounding == Rounding::kFixedPoint) {
    const FixedPointFactor factor = FactorOf(op, channel);
    return factor.multiplier != INT32_MIN && std::ldexp(most, factor.left + 1) < kAnySum;
  }
  const double factor =
      std::abs(static_cast<double>(ElementOf<float>(op, In::kMultiplier, channel)));
  return factor * most < kAnySum / 2;  // false for NaN
}

const ByteRoutines& RoutinesFor(const OpCall& op) {
  for (int channel = 0; channel < op.Input(In::kWeights).dims[0]; ++channel) {
    if (!IsTame(op, channel)) return kGenericByteRoutines;
  }
  const ByteRoutines& chosen = ChosenRoutines();
  return chosen.depthwise_form.is_byte && !FitBytes(op) ? WideRoutines() : chosen;
}

DepthwiseWeights* LayOut(BlockLayout& block, const DepthwiseForm& form, int channels, int groups) {
  const auto padded = static_cast<size_t>((channels + 15) / 16 * 16);
  auto* weights = block.Take<DepthwiseWeights>(1);
  auto* bytes = block.Take<uint8_t>(padded * static_cast<size_t>(groups) *
                                    static_cast<size_t>(form.group) * (form.is_byte ? 1 : 2));
  auto* bias = block.Take<int32_t>(padded);
  auto* multiplier = block.Take<uint32_t>(padded);
  auto* doubling = block.Take<int32_t>(padded);
  auto* half = block.Take<int32_t>(padded);
  auto* right = block.Take<int32_t>(padded);
  auto* away = block.Take<int32_t>(padded);
  auto* padding = block.Take<uint8_t>(padded);
  if (weights == nullptr) return nullptr;
  weights->weights = bytes;
  weights->bias = bias;
  weights->multiplier = multiplier;
  weights->doubling = doubling;
  weights->half = half;
  weights->right = right;
  weights->away = away;
  weights->padding = padding;
  weights->channels = channels;
  weights->groups = groups;
  return weights;
}

/// Returns where channel `c` of a block is among its registers' elements.
int PositionOf(const DepthwiseForm& form, int width, int c) {
  const int lane = c / (4 * form.vectors);
  const int v = c / 4 % form.vectors;
  return v * (width / form.vectors) + lane * 4 + c % 4;
}

void PackWeight(DepthwiseWeights& packed, const ChannelBlock& block, int position, int group,
                int tap, int32_t value) {
  const DepthwiseForm& form = packed.routines->depthwise_form;
  const int64_t at =
      (int64_t{block.first} * packed.groups + int64_t{group} * block.width + position) *
          form.group +
      tap;
  if (form.is_byte) {
    packed.weights[at] = static_cast<uint8_t>(value);
  } else {
    const auto wide = static_cast<int16_t>(value);
    std::memcpy(packed.weights + at * 2, &wide, sizeof(wide));
  }
}

void PackChannel(const OpCall& op, DepthwiseWeights& packed, const ChannelBlock& block, int c) {
  const DepthwiseForm& form = packed.routines->depthwise_form;
  const TensorView& w = op.Input(In::kWeights);
  const int channel = block.first + c;
  const int position = PositionOf(form, block.width, c + block.Common(form));
  int32_t sum = 0;
  for (int row = 0; row < w.dims[2]; ++row) {
    for (int column = 0; column < w.dims[3]; ++column) {
      const int tap = row * w.dims[3] + column;
      int group = packed.is_column ? column : tap / form.group;
      int in_group = packed.is_column ? row : tap % form.group;
      if (packed.window_columns != 0) {
        group = row / 2 * packed.window_columns + column;
        in_group = row % 2;
      }
      const int32_t value = WeightAt(op, channel, row, column);
      PackWeight(packed, block, position, group, in_group, value);
      sum += value;
    }
  }
  const int at = block.first + position;
  packed.bias[at] = BiasOf(op, channel, sum);
  packed.multiplier[at] = ElementOf<uint32_t>(op, In::kMultiplier, channel);
  const FixedPointFactor factor = FactorOf(op, channel);
  packed.doubling[at] = factor.left + 1;
  packed.half[at] = factor.right == 0 ? 0 : 1 << (factor.right - 1);
  packed.right[at] = factor.right;
  packed.away[at] = factor.right == 0 ? 0 : -1;
  packed.padding[channel] = PaddingOf(op, channel);
}

}  // namespace

Status DepthwiseLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const ByteRoutines& routines = RoutinesFor(op);
  const DepthwiseForm& form = routines.depthwise_form;
  const TensorView& w = op.Input(In::kWeights);
  const bool is_column = form.is_column && IsDepthwise3x3(op);
  const int taps = w.dims[2] * w.dims[3];
  const int window_columns = form.pairs_rows && PairsRows(op) ? w.dims[3] : 0;
  int groups = is_column ? 3 : (taps + form.group - 1) / form.group;
  if (window_columns != 0) groups = (w.dims[2] + 1) / 2 * window_columns;
  BlockLayout sizes(nullptr);
  LayOut(sizes, form, w.dims[0], groups);
  void* memory = AllocateBlock(sizes.bytes());
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(sizes.bytes()));
  BlockLayout layout(memory);
  DepthwiseWeights& packed = *LayOut(layout, form, w.dims[0], groups);
  packed.routines = &routines;
  packed.bytes = sizes.bytes();
  packed.is_column = is_column;
  packed.window_columns = window_columns;
  packed.blocks = 0;
  for (int first = 0; first < w.dims[0]; ++packed.blocks) {
    const ChannelBlock block = MakeChannelBlock(first, w.dims[0], form.widest);
    for (int c = 0; c < block.channels; ++c) PackChannel(op, packed, block, c);
    first += block.width;
  }
  *shared = memory;
  return OkStatus();
}

size_t DepthwiseBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const DepthwiseWeights*>(shared)->bytes;
}

}  // namespace tenon::cpu::q8
