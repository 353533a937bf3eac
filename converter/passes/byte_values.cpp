#include <utility>

#include "converter/ir/elements.hpp"
#include "converter/passes/fold_input_format.hpp"
#include "converter/passes/rewrite.hpp"

namespace tenon::converter {
namespace {

/// The constant's values per channel of an image tensor; none if it varies otherwise.
std::optional<std::vector<float>> ValuesOfChannels(const Tensor& constant, int32_t channels) {
  if (!constant.IsConstant() || constant.dtype != DType::kF32) return std::nullopt;
  const Shape& shape = constant.shape;
  if (shape.rank > 4) return std::nullopt;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const bool is_channel = i + 4 - shape.rank == 1;
    if (shape[i] != 1 && !(is_channel && shape[i] == channels)) return std::nullopt;
  }
  std::vector<float> values;
  for (const double value : ReadElements(constant)) values.push_back(static_cast<float>(value));
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values.front());
  return values;
}

/// One op between the bytes and the values.
struct Step {
  BinaryFunction function;
  bool constant_first;
  std::vector<float> constants;
};

std::optional<Step> StepOf(const Graph& graph, const Op& op, int32_t channels, TensorId* before) {
  const auto binary = op.attributes.As<BinaryAttributes>();
  if (binary.activation.function != UnaryFunction::kIdentity) return std::nullopt;
  if (binary.function > BinaryFunction::kDiv) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto constants = ValuesOfChannels(graph.tensor(op.inputs[i]), channels);
    if (!constants) continue;
    if (i == 0 && binary.function == BinaryFunction::kDiv) return std::nullopt;
    *before = op.inputs[1 - i];
    return Step{binary.function, i == 0, *constants};
  }
  return std::nullopt;
}

template <typename Number>
Number Apply(const Step& step, Number value, Number constant) {
  switch (step.function) {
    case BinaryFunction::kAdd:
      return value + constant;
    case BinaryFunction::kSub:
      return step.constant_first ? constant - value : value - constant;
    case BinaryFunction::kMul:
      return value * constant;
    default:
      return value / constant;
  }
}

void Apply(const Step& step, ByteValues& made) {
  for (size_t c = 0; c < made.values.size(); ++c) {
    for (float& value : made.values[c]) value = Apply(step, value, step.constants[c]);
    const auto constant = static_cast<double>(step.constants[c]);
    const double at_one = Apply(step, made.gain[c] + made.shift[c], constant);
    made.shift[c] = Apply(step, made.shift[c], constant);
    made.gain[c] = at_one - made.shift[c];
  }
}

}  // namespace

std::optional<ByteValues> FindByteValues(const Graph& graph, TensorId tensor) {
  const Shape shape = graph.tensor(tensor).shape;
  if (shape.rank != 4) return std::nullopt;
  std::vector<Step> steps;  // last first
  while (true) {
    const OpId producer = graph.tensor(tensor).producer;
    if (producer == kNone || graph.tensor(tensor).shape != shape) return std::nullopt;
    const Op& op = graph.op(producer);
    if (op.kind == OpKind::kCast) {
      tensor = op.inputs[0];
      break;
    }
    if (op.kind != OpKind::kBinary) return std::nullopt;
    std::optional<Step> step = StepOf(graph, op, shape[1], &tensor);
    if (!step) return std::nullopt;
    steps.push_back(std::move(*step));
  }
  if (graph.tensor(tensor).dtype != DType::kU8) return std::nullopt;
  ByteValues made;
  made.bytes = tensor;
  const auto channels = static_cast<size_t>(shape[1]);
  made.values.resize(channels);
  for (auto& values : made.values) {
    for (size_t byte = 0; byte < values.size(); ++byte) values[byte] = static_cast<float>(byte);
  }
  made.gain.assign(channels, 1.0);
  made.shift.assign(channels, 0.0);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) Apply(*step, made);
  return made;
}

}  // namespace tenon::converter
