#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "converter/ir/elements.hpp"
#include "converter/passes/fold_input_format.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

using ByteTable = std::array<float, 256>;

/// Returns a constant's values per channel of a tensor whose channels are dimension `axis` (-1: it
/// has none); none if it varies along other dimensions.
std::optional<std::vector<float>> ValuesOfChannels(const Tensor& constant, int32_t rank,
                                                   int32_t axis, size_t channels) {
  if (!constant.IsConstant() || constant.shape.rank > rank) return std::nullopt;
  const Shape& shape = constant.shape;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const bool is_channel = axis >= 0 && i + rank - shape.rank == axis;
    if (shape[i] != 1 && !is_channel) return std::nullopt;
  }
  std::vector<float> values;
  for (const double value : ReadElements(constant)) values.push_back(static_cast<float>(value));
  if (values.size() == 1) values.resize(channels, values.front());
  if (values.size() != channels) return std::nullopt;
  return values;
}

std::optional<float> OneValue(const Graph& graph, const Op& op, size_t input, float absent) {
  if (op.inputs.size() <= input || op.inputs[input] == kNone) return absent;
  const Tensor& tensor = graph.tensor(op.inputs[input]);
  if (!tensor.IsConstant() || tensor.shape.Elements() != 1) return std::nullopt;
  return static_cast<float>(ReadElement(tensor.dtype, tensor.constant->data()));
}

float LeastFloat(DType dtype) { return dtype == DType::kI8 ? -128.0F : 0.0F; }

/// An operand with one value, or with one per channel along the op's channel axis.
std::optional<std::vector<float>> OneOrEach(const Graph& graph, const Op& op, size_t input,
                                            float absent, bool along_channels, size_t channels) {
  if (op.inputs.size() <= input || op.inputs[input] == kNone) return std::vector(channels, absent);
  const Tensor& tensor = graph.tensor(op.inputs[input]);
  if (!tensor.IsConstant()) return std::nullopt;
  std::vector<float> values;
  for (const double value : ReadElements(tensor)) values.push_back(static_cast<float>(value));
  if (values.size() == 1)
    values.resize(channels, values.front());
  else if (!along_channels)
    return std::nullopt;
  if (values.size() != channels) return std::nullopt;
  return values;
}

/// Applies one op to the values of all channels. Returns false if it is not elementwise.
class ValueStep {
 public:
  /// `axis`: of the channels in the op's output, -1 for none.
  ValueStep(const Graph& graph, const Op& op, int32_t axis) : graph_(graph), op_(op), axis_(axis) {}

  bool Apply(std::vector<ByteTable>& channels) const {
    switch (op_.kind) {
      case OpKind::kTranspose:
      case OpKind::kCast:  // of u8 to f32: TensorBefore looked
        return true;
      case OpKind::kBinary:
        return ApplyBinary(channels);
      case OpKind::kQuantize:
        return ApplyQuantize(channels);
      case OpKind::kDequantize:
        return ApplyDequantize(channels);
      case OpKind::kLookup:
        return ApplyLookup(channels);
      default:
        return false;
    }
  }

 private:
  [[nodiscard]] DType DTypeOf(TensorId id) const { return graph_.tensor(id).dtype; }

  bool ApplyBinary(std::vector<ByteTable>& channels) const {
    const auto binary = op_.attributes.As<BinaryAttributes>();
    const size_t constant =
        graph_.tensor(op_.inputs[BinaryInput::kX]).IsConstant() ? BinaryInput::kX : BinaryInput::kY;
    const auto numbers =
        ValuesOfChannels(graph_.tensor(op_.inputs[constant]),
                         graph_.tensor(op_.outputs[0]).shape.rank, axis_, channels.size());
    if (!numbers) return false;
    for (size_t c = 0; c < channels.size(); ++c) {
      for (float& value : channels[c]) {
        const float number = (*numbers)[c];
        value = constant == BinaryInput::kX ? Result(binary.function, number, value)
                                            : Result(binary.function, value, number);
      }
    }
    return true;
  }

  static float Result(BinaryFunction function, float a, float b) {
    switch (function) {
      case BinaryFunction::kAdd:
        return a + b;
      case BinaryFunction::kSub:
        return a - b;
      case BinaryFunction::kMul:
        return a * b;
      default:
        return a / b;
    }
  }

  bool ApplyQuantize(std::vector<ByteTable>& channels) const {
    const auto attributes = op_.attributes.As<QuantizeAttributes>();
    const auto scale = OneValue(graph_, op_, QuantizeInput::kScale, 1);
    const auto zero_point = OneValue(graph_, op_, QuantizeInput::kZeroPoint, 0);
    const DType to = DTypeOf(op_.outputs[0]);
    if (!scale || !zero_point || !IsByte(to)) return false;
    return ForEach(channels, [&](float value) {
      const float steps = value / *scale;
      const float whole =
          attributes.rounding == Rounding::kHalfAway ? std::round(steps) : std::nearbyint(steps);
      return std::clamp(whole + *zero_point, LeastFloat(to), LeastFloat(to) + 255);
    });
  }

  bool ApplyDequantize(std::vector<ByteTable>& channels) const {
    const bool along = op_.attributes.As<DequantizeAttributes>().axis == axis_;
    const auto scales = OneOrEach(graph_, op_, QuantizeInput::kScale, 1, along, channels.size());
    const auto zero_points =
        OneOrEach(graph_, op_, QuantizeInput::kZeroPoint, 0, along, channels.size());
    if (!scales || !zero_points || !IsByte(DTypeOf(op_.inputs[0]))) return false;
    for (size_t c = 0; c < channels.size(); ++c) {
      for (float& value : channels[c]) {
        value = (value - (*zero_points)[c]) * (*scales)[c];
        if (std::isnan(value)) return false;
      }
    }
    return true;
  }

  bool ApplyLookup(std::vector<ByteTable>& channels) const {
    const Tensor& table = graph_.tensor(op_.inputs[LookupInput::kTable]);
    if (!table.IsConstant()) return false;
    const std::vector<double> entries = ReadElements(table);
    const float least = LeastFloat(DTypeOf(op_.inputs[0]));
    return ForEach(channels, [&](float value) {
      return static_cast<float>(entries[static_cast<size_t>(value - least)]);
    });
  }

  /// Returns false if a value becomes NaN, which no quantized number represents.
  template <typename Function>
  static bool ForEach(std::vector<ByteTable>& channels, const Function& function) {
    for (ByteTable& values : channels) {
      for (float& value : values) {
        value = function(value);
        if (std::isnan(value)) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Op& op_;
  int32_t axis_;
};

/// Returns the operand to which the op applies elementwise, or kNone.
TensorId TensorBefore(const Graph& graph, const Op& op) {
  switch (op.kind) {
    case OpKind::kTranspose:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
    case OpKind::kLookup:
      return op.inputs[0];
    case OpKind::kCast: {
      const bool widens = graph.tensor(op.inputs[0]).dtype == DType::kU8 &&
                          graph.tensor(op.outputs[0]).dtype == DType::kF32;
      return widens ? op.inputs[0] : kNone;
    }
    case OpKind::kBinary: {
      const auto binary = op.attributes.As<BinaryAttributes>();
      const bool plain = binary.activation.function == UnaryFunction::kIdentity &&
                         binary.function <= BinaryFunction::kDiv &&
                         graph.tensor(op.outputs[0]).dtype == DType::kF32;
      const bool first = graph.tensor(op.inputs[BinaryInput::kX]).IsConstant();
      const TensorId other = op.inputs[first ? BinaryInput::kY : BinaryInput::kX];
      const bool same = graph.tensor(other).shape == graph.tensor(op.outputs[0]).shape;
      return plain && same && first != graph.tensor(op.inputs[BinaryInput::kY]).IsConstant()
                 ? other
                 : kNone;
    }
    default:
      return kNone;
  }
}

bool ComputesInFloats(const Op& op) {
  return op.kind != OpKind::kTranspose && op.kind != OpKind::kLookup;
}

}  // namespace

std::optional<ByteValues> FindByteValues(const Graph& graph, TensorId tensor) {
  const Shape shape = graph.tensor(tensor).shape;
  std::vector<std::pair<OpId, int32_t>> path;  // last first, with the channels' axis in the output
  ByteValues made;
  made.permutation.resize(static_cast<size_t>(shape.rank));
  std::iota(made.permutation.begin(), made.permutation.end(), 0);
  while (graph.tensor(tensor).producer != kNone) {
    const OpId id = graph.tensor(tensor).producer;
    const TensorId before = TensorBefore(graph, graph.op(id));
    if (before == kNone) break;
    path.emplace_back(id, shape.rank == 4 ? made.permutation[1] : -1);
    if (graph.op(id).kind == OpKind::kTranspose) {
      const auto transpose = graph.op(id).attributes.As<TransposeAttributes>();
      for (int32_t& axis : made.permutation) axis = transpose.permutation[axis];
    }
    tensor = before;
  }
  if (graph.tensor(tensor).dtype != DType::kU8 || graph.tensor(tensor).IsConstant()) {
    return std::nullopt;
  }
  made.bytes = tensor;
  made.values.resize(shape.rank == 4 ? static_cast<size_t>(shape[1]) : 1);
  for (ByteTable& values : made.values) std::iota(values.begin(), values.end(), 0.0F);
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const Op& op = graph.op(step->first);
    if (!ValueStep(graph, op, step->second).Apply(made.values)) return std::nullopt;
    made.ops += op.kind == OpKind::kTranspose ? 0 : 1;
    made.through_floats = made.through_floats || ComputesInFloats(op);
  }
  return made;
}

std::optional<ByteLine> LineOf(const ByteValues& made) {
  constexpr double kRounding = 2e-6;  // of a few ops in f32
  ByteLine line;
  for (const auto& values : made.values) {
    const auto first = static_cast<double>(values.front());
    const auto last = static_cast<double>(values.back());
    const double gain = (last - first) / 255;
    if (gain == 0 || !std::isfinite(gain)) return std::nullopt;
    for (size_t byte = 0; byte < values.size(); ++byte) {
      const double on_line = first + gain * static_cast<double>(byte);
      const double allowed = kRounding * std::max(std::abs(first), std::abs(last));
      if (!(std::abs(static_cast<double>(values[byte]) - on_line) <= allowed)) return std::nullopt;
    }
    line.gain.push_back(gain);
    line.shift.push_back(first);
  }
  return line;
}

std::vector<float> ScaleInputChannels(const Tensor& weights, int32_t group,
                                      const std::vector<double>& gain) {
  std::vector<float> scaled(weights.constant->size() / sizeof(float));
  std::memcpy(scaled.data(), weights.constant->data(), weights.constant->size());
  const Shape& shape = weights.shape;
  const auto inputs = static_cast<size_t>(shape[1]);
  const auto outputs_of_group = static_cast<size_t>(shape[0] / group);
  const auto taps = static_cast<size_t>(shape[2]) * static_cast<size_t>(shape[3]);
  for (size_t i = 0; i < scaled.size(); ++i) {
    const size_t output = i / taps / inputs;
    const size_t channel = output / outputs_of_group * inputs + i / taps % inputs;
    scaled[i] = static_cast<float>(static_cast<double>(scaled[i]) * gain[channel]);
  }
  return scaled;
}

}  // namespace tenon::converter
