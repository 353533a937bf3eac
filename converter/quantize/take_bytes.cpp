#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/fold_input_format.hpp"
#include "converter/quantize/choose_ops.hpp"
#include "converter/quantize/equalize.hpp"

namespace tenon::converter {
namespace {

/// Of a byte: rounding of the floats that a zero point is found from.
constexpr double kWhole = 1e-3;

/// The real values of bytes with integer zero points: gain * (byte - zero_point) + rest.
struct Reading {
  ByteValues made;
  std::vector<double> gain;
  std::vector<double> zero_point;
  std::vector<double> rest;
};

std::optional<Reading> ReadingOf(const Graph& graph, const Op& conv) {
  auto made = FindByteValues(graph, conv.inputs[0]);
  if (!made) return std::nullopt;
  const auto line = LineOf(*made);
  if (!line) return std::nullopt;
  Reading reading;
  reading.made = std::move(*made);
  reading.gain = line->gain;
  for (size_t c = 0; c < line->gain.size(); ++c) {
    const double zero = -line->shift[c] / line->gain[c];
    const double whole = std::nearbyint(zero);
    if (!(whole >= 0 && whole <= 255)) return std::nullopt;
    reading.zero_point.push_back(whole);
    const double off = whole - zero;
    reading.rest.push_back(std::abs(off) < kWhole ? 0 : off * line->gain[c]);
  }
  return reading;
}

/// The bytes in the order of the tensor that is made of them, before op `position`.
Result<TensorId> Turned(Graph& graph, OpId position, const ByteValues& made) {
  if (std::is_sorted(made.permutation.begin(), made.permutation.end())) return made.bytes;
  TransposeAttributes transpose;
  transpose.rank = static_cast<int32_t>(made.permutation.size());
  std::copy(made.permutation.begin(), made.permutation.end(), transpose.permutation);
  const std::string name = graph.tensor(made.bytes).name + ".turned";
  TENON_ASSIGN_OR_RETURN(const OpId op,
                         graph.InsertOp(position, OpKind::kTranspose, name, {made.bytes},
                                        Attributes(transpose), {name}));
  return graph.op(op).outputs[0];
}

/// Adds the f32 values of the bytes, before op `position`.
Result<TensorId> Dequantized(Graph& graph, OpId position, const Reading& reading, float scale) {
  TENON_ASSIGN_OR_RETURN(const TensorId bytes, Turned(graph, position, reading.made));
  const std::string name = graph.tensor(reading.made.bytes).name;
  const auto channels = static_cast<int32_t>(reading.zero_point.size());
  const TensorId scales = graph.AddConstantOf(name + ".scale", DType::kF32, Shape({channels}),
                                              std::vector<float>(reading.zero_point.size(), scale));
  const TensorId zero_points =
      graph.AddConstant(name + ".zero_point", DType::kU8, Shape({channels}),
                        WriteElements(DType::kU8, reading.zero_point));
  const std::string made = name + ".dequantize";
  TENON_ASSIGN_OR_RETURN(
      const OpId op,
      graph.InsertOp(position, OpKind::kDequantize, made, {bytes, scales, zero_points},
                     Attributes(DequantizeAttributes{1}), {made}));
  return graph.op(op).outputs[0];
}

/// Returns what the rests of the channels add to every output channel of the convolution.
std::vector<double> Offsets(const Tensor& weights, int32_t group, const std::vector<double>& rest) {
  const std::vector<float> products = ScaleInputChannels(weights, group, rest);
  const auto outputs = static_cast<size_t>(weights.shape[0]);
  std::vector<double> sums(outputs);
  const size_t each = products.size() / outputs;
  for (size_t i = 0; i < products.size(); ++i) sums[i / each] += double{products[i]};
  return sums;
}

void AddToBias(Graph& graph, OpId id, std::vector<double> values) {
  const Op op = graph.op(id);
  const bool has_bias = op.inputs.size() > GemmInput::kBias && op.inputs[GemmInput::kBias] != kNone;
  if (has_bias) {
    const std::vector<double> bias = ReadElements(graph.tensor(op.inputs[GemmInput::kBias]));
    for (size_t i = 0; i < values.size(); ++i) values[i] += bias[i];
  }
  const TensorId sum = graph.AddConstant(op.name + ".bias_of_bytes", DType::kF32,
                                         Shape({static_cast<int32_t>(values.size())}),
                                         WriteElements(DType::kF32, values));
  if (op.inputs.size() > GemmInput::kBias) {
    graph.SetInput(id, GemmInput::kBias, sum);
    if (has_bias && !graph.IsRead(op.inputs[GemmInput::kBias]))
      graph.EraseTensor(op.inputs[GemmInput::kBias]);
  } else {
    graph.MutableOp(id).inputs.push_back(sum);
  }
}

Status Take(Graph& graph, OpId id, const Reading& reading) {
  const Op conv = graph.op(id);
  double largest = 0;
  for (const double gain : reading.gain) largest = std::max(largest, std::abs(gain));
  const auto scale = static_cast<float>(largest);
  std::vector<double> relative;
  for (const double gain : reading.gain) relative.push_back(gain / double{scale});
  const Tensor weights = graph.tensor(conv.inputs[GemmInput::kWeights]);
  const int32_t group = conv.attributes.As<ConvAttributes>().group;
  const auto is_zero = [](double rest) { return rest == 0; };
  if (!std::all_of(reading.rest.begin(), reading.rest.end(), is_zero)) {
    AddToBias(graph, id, Offsets(weights, group, reading.rest));
  }
  graph.SetInput(id, GemmInput::kWeights,
                 graph.AddConstantOf(weights.name + ".of_bytes", DType::kF32, weights.shape,
                                     ScaleInputChannels(weights, group, relative)));
  if (!graph.IsRead(conv.inputs[GemmInput::kWeights]))
    graph.EraseTensor(conv.inputs[GemmInput::kWeights]);
  TENON_ASSIGN_OR_RETURN(const TensorId real, Dequantized(graph, id, reading, scale));
  graph.SetInput(id, 0, real);
  const OpId before = graph.tensor(conv.inputs[0]).producer;
  if (before != kNone) EraseIfUnread(graph, before);
  return {};
}

}  // namespace

Status TakeBytes(Graph& graph, const std::set<OpId>& keep) {
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || keep.contains(id)) continue;
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kConv || !WhyFloat(graph, id).empty()) continue;
    const auto reading = ReadingOf(graph, op);
    if (!reading) continue;
    TENON_RETURN_IF_ERROR(Take(graph, id, *reading));
  }
  return Verify(graph);
}

}  // namespace tenon::converter
