#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// A convolution along one axis.
struct Axis {
  int32_t size;
  int32_t outputs;
  int32_t taps;
  int32_t stride;
  int32_t dilation;
  int32_t before;  ///< padding
  int32_t after;
};

/// The first of the taps that stay, and their number.
struct Kept {
  int32_t first;
  int32_t count;

  bool operator==(const Kept&) const = default;
};
using KeptTaps = std::array<Kept, 2>;  ///< of rows and columns

/// Returns true if the tap reads an element of x for some output.
bool ReadsInput(const Axis& axis, int32_t tap) {
  // What it reads grows with the output: the first one that is not before x decides.
  const int64_t at_first = int64_t{tap} * axis.dilation - axis.before;
  const int64_t output = at_first >= 0 ? 0 : CeilDiv<int64_t>(-at_first, axis.stride);
  return output < axis.outputs && at_first + output * axis.stride < axis.size;
}

/// Returns the taps up to the first and from the last that read x; all of them where the padding
/// would become negative, and one where there is none.
Kept KeptOf(const Axis& axis) {
  int32_t first = 0;
  int32_t last = axis.taps - 1;
  while (first < last && !ReadsInput(axis, first)) ++first;
  while (last > first && !ReadsInput(axis, last)) --last;
  const int64_t before = axis.before - int64_t{first} * axis.dilation;
  const int64_t after = axis.after - int64_t{axis.taps - 1 - last} * axis.dilation;
  if (before < 0 || after < 0) return {0, axis.taps};
  return {first, last + 1 - first};
}

using Axes = std::array<Axis, 2>;

Axis AxisOf(const Graph& graph, const Op& op, int32_t k) {
  const auto conv = op.attributes.As<ConvAttributes>();
  return {graph.tensor(op.inputs[ConvInput::kX]).shape[2 + k],
          graph.tensor(op.outputs.front()).shape[2 + k],
          graph.tensor(op.inputs[ConvInput::kWeights]).shape[2 + k],
          conv.strides[k],
          conv.dilations[k],
          conv.pads[k],
          conv.pads[2 + k]};
}

/// The attributes of quantized convolutions begin with those of float ones.
void Trim(const Axes& axes, const KeptTaps& kept, Op& op) {
  auto conv = op.attributes.As<ConvAttributes>();
  for (size_t k = 0; k < kept.size(); ++k) {
    conv.pads[k] -= kept[k].first * axes[k].dilation;
    conv.pads[2 + k] -= (axes[k].taps - kept[k].first - kept[k].count) * axes[k].dilation;
    if (kept[k].count == 1) conv.dilations[k] = 1;
  }
  std::vector<int32_t> words = op.attributes.words();
  static_assert(sizeof conv % sizeof(int32_t) == 0);
  std::memcpy(words.data(), &conv, sizeof conv);
  op.attributes = Attributes(std::move(words));
}

TensorId TrimWeights(Graph& graph, TensorId id, const KeptTaps& kept) {
  const Tensor weights = graph.tensor(id);
  const Shape& shape = weights.shape;
  const Shape trimmed({shape[0], shape[1], kept[0].count, kept[1].count});
  const auto element = static_cast<int64_t>(DTypeBytes(weights.dtype));
  std::vector<std::byte> bytes;
  for (int64_t filter = 0; filter < int64_t{shape[0]} * shape[1]; ++filter) {
    for (int64_t row = kept[0].first; row < kept[0].first + kept[0].count; ++row) {
      const int64_t at = (filter * shape[2] + row) * shape[3] + kept[1].first;
      const std::byte* from = weights.constant->data() + at * element;
      bytes.insert(bytes.end(), from, from + kept[1].count * element);
    }
  }
  return graph.AddConstant(weights.name + ".trimmed", weights.dtype, trimmed, std::move(bytes));
}

/// Returns true for a convolution whose weights lie as the model had them.
bool IsPlain(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kConv && op.kind != OpKind::kQuantizedConv) return false;
  const Tensor& weights = graph.tensor(op.inputs[ConvInput::kWeights]);
  if (!weights.IsConstant() || weights.layout != Layout::kRowMajor) return false;
  // In the padding a mean that is subtracted counts.
  if (op.kind == OpKind::kConv) return op.InputOrNone(ConvInput::kXMean) == kNone;
  return op.InputOrNone(QuantizedGemmInput::kFoldedBias) == kNone;
}

Axes AxesOf(const Graph& graph, const Op& op) {
  return {AxisOf(graph, op, 0), AxisOf(graph, op, 1)};
}

KeptTaps TapsOf(const Axes& axes) { return {KeptOf(axes[0]), KeptOf(axes[1])}; }

/// Returns true if nothing else reads the weights, or keeps other taps of them: then they would be
/// stored twice.
bool AllKeep(const Graph& graph, TensorId weights, const KeptTaps& kept) {
  const std::vector<OpId> readers = graph.Consumers(weights);
  return !graph.IsOutput(weights) && std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
    const Op& op = graph.op(reader);
    return IsPlain(graph, op) && op.inputs[ConvInput::kWeights] == weights &&
           TapsOf(AxesOf(graph, op)) == kept;
  });
}

}  // namespace

Status TrimKernels(Graph& graph, PassContext& context) {
  std::map<TensorId, TensorId> trimmed;
  for (const OpId id : graph.OpOrder()) {
    if (!IsPlain(graph, graph.op(id))) continue;
    const Axes axes = AxesOf(graph, graph.op(id));
    const KeptTaps kept = TapsOf(axes);
    if (kept[0].count == axes[0].taps && kept[1].count == axes[1].taps) continue;
    const TensorId weights = graph.op(id).inputs[ConvInput::kWeights];
    if (!AllKeep(graph, weights, kept)) continue;
    const auto [made, is_new] = trimmed.try_emplace(weights, kNone);
    if (is_new) made->second = TrimWeights(graph, weights, kept);
    Trim(axes, kept, graph.MutableOp(id));
    graph.SetInput(id, ConvInput::kWeights, made->second);
    if (!graph.IsRead(weights)) graph.EraseTensor(weights);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
