#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/quantize/insert_quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Results that a run computes at once: bounds the memory that they take.
constexpr int64_t kMostActivationBytes = int64_t{128} << 20;

/// A layer and its twin, which computes the same from rounded operands.
struct Twin {
  OpId layer = kNone;
  TensorId exact = kNone;
  TensorId rounded = kNone;
  size_t channels = 1;
  size_t positions = 1;  ///< elements of one channel in a row
};

Result<Twin> AddTwin(Graph& graph, OpId id, const QuantizationScheme& scheme) {
  const Op op = graph.op(id);
  const ActivationScale& scale = scheme.tensors.at(op.inputs.front()).scale;
  std::vector<TensorId> inputs = op.inputs;
  if (!IsGivenInIntegers(graph, op.inputs[0])) {
    TENON_ASSIGN_OR_RETURN(
        inputs[0], AddRounded(graph, kNone, op.inputs[0], scale, QuantizationForm::kSimulated));
  }
  const Shape shape = graph.tensor(op.inputs[GemmInput::kWeights]).shape;
  inputs[GemmInput::kWeights] =
      graph.AddConstantOf(op.name + ".rounded_weights", DType::kF32, shape,
                          QuantizeWeights(graph, op, scale.scale).Dequantize(shape));
  Twin twin;
  twin.layer = id;
  twin.exact = op.outputs.front();
  TENON_ASSIGN_OR_RETURN(twin.rounded, graph.AddOpTensor(op.kind, op.name + ".twin", inputs,
                                                         op.attributes, op.name + ".twin"));
  const Shape& output = graph.tensor(twin.exact).shape;
  const int32_t axis = ChannelAxis(graph, op);
  twin.channels = static_cast<size_t>(output[axis]);
  for (int32_t i = axis + 1; i < output.rank; ++i) {
    twin.positions *= static_cast<size_t>(output[i]);
  }
  return twin;
}

void AddDifferences(const Twin& twin, Span<const float> exact, Span<const float> rounded,
                    std::vector<double>& sums) {
  for (size_t i = 0; i < exact.size(); ++i) {
    sums[i / twin.positions % twin.channels] += double{rounded[i]} - double{exact[i]};
  }
}

Status MeasureSome(Graph graph, const std::vector<OpId>& layers, const QuantizationScheme& scheme,
                   const std::vector<Sample>& samples,
                   std::map<OpId, std::vector<double>>& result) {
  std::vector<Twin> twins;
  std::vector<TensorId> wanted;
  for (const OpId id : layers) {
    TENON_ASSIGN_OR_RETURN(const Twin twin, AddTwin(graph, id, scheme));
    twins.push_back(twin);
    wanted.push_back(twin.exact);
    wanted.push_back(twin.rounded);
    result[id].assign(twin.channels, 0.0);
  }
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(std::move(graph), wanted));
  for (const Sample& sample : samples) {
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    for (size_t i = 0; i < twins.size(); ++i) {
      AddDifferences(twins[i], runner.Wanted(2 * i), runner.Wanted(2 * i + 1),
                     result[twins[i].layer]);
    }
  }
  for (size_t i = 0; i < twins.size(); ++i) {
    const size_t values = runner.Wanted(2 * i).size() / twins[i].channels * samples.size();
    for (double& sum : result[twins[i].layer]) sum /= static_cast<double>(values);
  }
  return {};
}

}  // namespace

Result<std::map<OpId, std::vector<double>>> MeanErrors(const Graph& graph,
                                                       const QuantizationScheme& scheme,
                                                       const std::vector<Sample>& samples) {
  std::map<OpId, std::vector<double>> result;
  std::vector<OpId> some;
  int64_t bytes = 0;
  const auto measure = [&] { return MeasureSome(graph, some, scheme, samples, result); };
  for (const OpId id : scheme.chosen.ops) {
    const Op& op = graph.op(id);
    if (!TraitsOf(op.kind).IsFloatGemm()) continue;
    const int64_t more = 2 * graph.tensor(op.outputs.front()).ByteSize();
    if (more == 0) continue;
    if (!some.empty() && bytes + more > kMostActivationBytes) {
      TENON_RETURN_IF_ERROR(measure());
      some.clear();
      bytes = 0;
    }
    some.push_back(id);
    bytes += more;
  }
  if (!some.empty()) {
    TENON_RETURN_IF_ERROR(measure());
  }
  return result;
}

Status CorrectBiases(Graph& graph, const std::map<OpId, std::vector<double>>& means) {
  for (const auto& [id, mean] : means) {
    Op& op = graph.MutableOp(id);
    std::vector<double> bias(mean.size());
    if (op.inputs.size() > GemmInput::kBias && op.inputs[GemmInput::kBias] != kNone) {
      bias = ReadElements(graph.tensor(op.inputs[GemmInput::kBias]));
    }
    for (size_t i = 0; i < bias.size(); ++i) bias[i] -= mean[i];
    const TensorId corrected = graph.AddConstant(op.name + ".corrected_bias", DType::kF32,
                                                 Shape({static_cast<int32_t>(bias.size())}),
                                                 WriteElements(DType::kF32, bias));
    if (op.inputs.size() > GemmInput::kBias) {
      graph.SetInput(id, GemmInput::kBias, corrected);
    } else {
      op.inputs.push_back(corrected);
    }
  }
  return {};
}

}  // namespace tenon::converter
