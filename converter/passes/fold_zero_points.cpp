#include <algorithm>
#include <utility>

#include "converter/ir/elements.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Returns the operand, or null if it is absent.
const Tensor* Operand(const Graph& graph, const Op& op, size_t index) {
  if (index >= op.inputs.size() || op.inputs[index] == kNone) return nullptr;
  return &graph.tensor(op.inputs[index]);
}

/// Returns why the op stays unchanged, or empty.
std::string WhyNot(const Graph& graph, const Op& op) {
  const Tensor& weights = graph.tensor(op.inputs[GemmInput::kWeights]);
  if (!weights.IsConstant()) return "its weights are no constant";
  if (weights.layout != Layout::kRowMajor) return "its weights are laid out already";
  if (TraitsOf(op.kind).matrix_product && weights.shape.rank != 2) return "it has several matrices";
  if (Operand(graph, op, QuantizedGemmInput::kWeightsZeroPoint) != nullptr)
    return "its weights have zero points";
  for (const size_t index : {size_t{GemmInput::kBias}, size_t{QuantizedGemmInput::kXZeroPoint}}) {
    const Tensor* operand = Operand(graph, op, index);
    if (operand != nullptr && !operand->IsConstant()) return "a parameter is no constant";
  }
  const Tensor* zero_point = Operand(graph, op, QuantizedGemmInput::kXZeroPoint);
  if (zero_point != nullptr && zero_point->shape.Elements() != 1) {
    return "each input channel has a zero point";
  }
  return "";
}

/// Returns, per output, the sum of the weights that it multiplies, modulo 2^32.
std::vector<uint32_t> WeightSums(const Graph& graph, const Op& op) {
  const Tensor& weights = graph.tensor(op.inputs[GemmInput::kWeights]);
  const bool outputs_last =
      TraitsOf(op.kind).matrix_product && op.attributes.As<MatMulAttributes>().transpose_b == 0;
  const auto outputs = static_cast<size_t>(weights.shape[outputs_last ? 1 : 0]);
  const auto count = static_cast<size_t>(weights.shape.Elements());
  std::vector<uint32_t> sums(outputs, 0);
  for (size_t i = 0; i < count; ++i) {
    const size_t output = outputs_last ? i % outputs : i / (count / outputs);
    sums[output] += static_cast<uint32_t>(ReadInteger(weights.dtype, weights.constant->data() + i));
  }
  return sums;
}

int64_t ZeroPointOf(const Graph& graph, const Op& op) {
  const Tensor* zero_point = Operand(graph, op, QuantizedGemmInput::kXZeroPoint);
  return zero_point == nullptr ? 0 : ReadInteger(zero_point->dtype, zero_point->constant->data());
}

/// Returns the bias minus what x's zero point adds to each sum.
std::vector<int32_t> FoldedBias(const Graph& graph, const Op& op) {
  const Tensor* bias = Operand(graph, op, GemmInput::kBias);
  const int64_t factor = ZeroPointOf(graph, op);
  std::vector<int32_t> folded;
  for (const uint32_t sum : WeightSums(graph, op)) {
    const size_t at = folded.size() * sizeof(int32_t);
    const int64_t own = bias == nullptr ? 0 : ReadInteger(bias->dtype, bias->constant->data() + at);
    folded.push_back(
        static_cast<int32_t>(static_cast<uint32_t>(own) - static_cast<uint32_t>(factor) * sum));
  }
  return folded;
}

/// Returns whether padding reads as a number other than 0.
bool NeedsZeroPoint(const Graph& graph, const Op& op) {
  if (!TraitsOf(op.kind).convolution || ZeroPointOf(graph, op) == 0) return false;
  const auto conv = op.attributes.As<ConvAttributes>();
  return std::any_of(conv.pads, conv.pads + 4, [](int32_t amount) { return amount != 0; });
}

void FoldZeroPoint(Graph& graph, OpId id) {
  const std::vector<int32_t> folded = FoldedBias(graph, graph.op(id));
  const std::string name = graph.op(id).name + ".folded_bias";
  const TensorId constant =
      graph.AddConstantOf(name, DType::kI32, Shape({static_cast<int32_t>(folded.size())}), folded);
  const bool needs_zero_point = NeedsZeroPoint(graph, graph.op(id));
  Op& op = graph.MutableOp(id);
  const std::vector<TensorId> before = op.inputs;
  if (needs_zero_point) {
    op.inputs.resize(QuantizedGemmInput::kFoldedBias + 1, kNone);
    op.inputs[QuantizedGemmInput::kFoldedBias] = constant;
    return;
  }
  op.inputs[GemmInput::kBias] = constant;
  if (op.inputs.size() > QuantizedGemmInput::kXZeroPoint)
    op.inputs[QuantizedGemmInput::kXZeroPoint] = kNone;
  while (op.inputs.back() == kNone) op.inputs.pop_back();
  for (const TensorId old : before) {
    if (old != kNone && graph.IsTensor(old) && !graph.IsRead(old)) graph.EraseTensor(old);
  }
}

}  // namespace

Status FoldZeroPoints(Graph& graph, PassContext& context) {
  const auto& wants = context.wants_folded_bias;
  if (!wants) return {};
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!TraitsOf(op.kind).IsQuantizedGemm()) continue;
    const bool is_plain = Operand(graph, op, QuantizedGemmInput::kXZeroPoint) == nullptr &&
                          Operand(graph, op, GemmInput::kBias) != nullptr;
    if (is_plain || Operand(graph, op, QuantizedGemmInput::kFoldedBias) != nullptr ||
        !wants(graph, op))
      continue;
    if (std::string reason = WhyNot(graph, op); !reason.empty()) {
      context.report.declined.push_back({op.name, std::move(reason)});
      continue;
    }
    FoldZeroPoint(graph, id);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
