#include <cstring>
#include <map>
#include <utility>

#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Returns the order in which the op's kernel reads its weights in place; also row-major if they
/// cannot be laid out, or already are.
Layout WantedLayout(const Graph& graph, const Op& op) {
  const WeightsOrder order = CapsOf(op).weights;
  if (order == WeightsOrder::kRowMajor || op.inputs.size() <= GemmInput::kWeights)
    return Layout::kRowMajor;
  const Tensor& weights = graph.tensor(op.inputs[GemmInput::kWeights]);
  if (!weights.IsConstant() || weights.layout != Layout::kRowMajor) return Layout::kRowMajor;
  const bool outputs_last = order == WeightsOrder::kOutputsLast;
  if (TraitsOf(op.kind).convolution)
    return outputs_last ? Layout::kOutputsLast : Layout::kChannelsLast;
  // A matrix has its output channels last, unless it is read transposed.
  const bool transposed = op.attributes.As<MatMulAttributes>().transpose_b != 0;
  return weights.shape.rank == 2 && transposed == outputs_last ? Layout::kOutputsLast
                                                               : Layout::kRowMajor;
}

/// Returns the same elements, laid out by `strides` instead of row-major.
std::vector<std::byte> Permuted(const Tensor& tensor, const std::vector<int32_t>& strides) {
  std::vector<std::byte> bytes(tensor.constant->size());
  const auto size = static_cast<size_t>(DTypeBytes(tensor.dtype));
  std::vector<int32_t> index(static_cast<size_t>(tensor.shape.rank), 0);
  int64_t to = 0;
  for (size_t from = 0; from < bytes.size(); from += size) {
    std::memcpy(bytes.data() + static_cast<size_t>(to) * size, tensor.constant->data() + from,
                size);
    for (size_t axis = index.size(); axis-- > 0;) {
      to += strides[axis];
      if (++index[axis] < tensor.shape[static_cast<int32_t>(axis)]) break;
      to -= int64_t{strides[axis]} * index[axis];
      index[axis] = 0;
    }
  }
  return bytes;
}

}  // namespace

Bytes LaidOutWeights::Get(const Tensor& tensor, Layout layout) {
  const std::vector<int32_t> strides = DenseStrides(tensor.shape, layout);
  const auto [place, is_new] = known_.try_emplace({tensor.constant, layout, strides});
  if (is_new) {
    place->second = std::make_shared<const std::vector<std::byte>>(Permuted(tensor, strides));
  }
  return place->second;
}

Status LayOutWeights(Graph& graph, LaidOutWeights& weights, PassContext& context) {
  std::map<std::pair<TensorId, Layout>, TensorId> laid_out;
  for (const OpId id : graph.OpOrder()) {
    const Layout layout = WantedLayout(graph, graph.op(id));
    if (layout == Layout::kRowMajor) continue;
    const TensorId source = graph.op(id).inputs[GemmInput::kWeights];
    const auto [entry, is_new] = laid_out.emplace(std::pair(source, layout), kNone);
    if (is_new) {
      const Tensor& tensor = graph.tensor(source);
      const char* suffix = layout == Layout::kOutputsLast ? ".outputs_last" : ".inputs_last";
      entry->second = graph.AddConstant(tensor.name + suffix, tensor.dtype, tensor.shape,
                                        weights.Get(tensor, layout));
      graph.MutableTensor(entry->second).layout = layout;
      ++context.report.changed;
    }
    graph.SetInput(id, GemmInput::kWeights, entry->second);
  }
  for (const auto& [key, made] : laid_out) {
    if (graph.IsTensor(key.first) && !graph.IsRead(key.first)) graph.EraseTensor(key.first);
  }
  return {};
}

}  // namespace tenon::converter
