#include "converter/passes/channel_constants.hpp"

#include <algorithm>
#include <string>

#include "converter/ir/elements.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {

std::optional<std::vector<double>> PerChannel(const Tensor& constant, const Shape& output,
                                              int32_t channel_axis) {
  const Shape& shape = constant.shape;
  const int32_t missing = output.rank - shape.rank;  // NumPy aligns the last dimensions
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (shape[i] != 1 && i + missing != channel_axis) return std::nullopt;
  }
  std::vector<double> values = ReadElements(constant);
  if (values.size() == 1) values.resize(static_cast<size_t>(output[channel_axis]), values.front());
  return values;
}

void ReplaceConstant(Graph& graph, OpId id, size_t index, std::string_view wanted,
                     const Shape& shape, const std::vector<double>& values) {
  const std::string name(wanted);  // the view may be of the constant that goes
  const TensorId old = graph.op(id).InputOrNone(index);
  const TensorId made =
      graph.AddConstant(name, DType::kF32, shape, WriteElements(DType::kF32, values));
  std::vector<TensorId>& inputs = graph.MutableOp(id).inputs;
  if (inputs.size() <= index) inputs.resize(index + 1, kNone);
  inputs[index] = made;
  if (old == kNone || graph.IsRead(old)) return;
  graph.EraseTensor(old);
  graph.RenameTensor(made, name);
}

void ReplaceBias(Graph& graph, OpId main, const std::vector<double>& bias) {
  const TensorId old_bias = graph.op(main).InputOrNone(GemmInput::kBias);
  const bool needed = std::any_of(bias.begin(), bias.end(), [](double v) { return v != 0.0; });
  if (old_bias == kNone && !needed) return;
  const Op& op = graph.op(main);
  const std::string name = old_bias == kNone ? op.name + "_bias" : graph.tensor(old_bias).name;
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int32_t>(bias.size());
  ReplaceConstant(graph, main, GemmInput::kBias, name, shape, bias);
}

}  // namespace tenon::converter
