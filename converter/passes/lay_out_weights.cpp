#include "converter/passes/lay_out_weights.hpp"

#include <cstring>
#include <map>

#include "converter/ir/op_kinds.hpp"
#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kWeights = 1;

/// True if the op's kernel reads its weights, as they are now, in place in this order only.
bool WantsOutputsLast(const Graph& graph, const Op& op) {
  if (CapsOf(op).weights != WeightsOrder::kOutputsLast || op.inputs.size() <= kWeights) {
    return false;
  }
  const Tensor& weights = graph.tensor(op.inputs[kWeights]);
  if (!weights.IsConstant() || weights.layout != Layout::kRowMajor) return false;
  if (IsConvolution(op.kind)) return true;
  // A matrix has its output channels last, unless it is read transposed.
  return weights.shape.rank == 2 && op.attributes.As<MatMulAttributes>().transpose_b != 0;
}

/// The same elements, laid out by `strides` instead of row-major.
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

Status LayOutWeights(Graph& graph, PassReport& report) {
  std::map<TensorId, TensorId> laid_out;
  for (const OpId id : graph.OpOrder()) {
    if (!WantsOutputsLast(graph, graph.op(id))) continue;
    const TensorId source = graph.op(id).inputs[kWeights];
    const auto [entry, is_new] = laid_out.emplace(source, kNone);
    if (is_new) {
      const Tensor& tensor = graph.tensor(source);
      const std::vector<int32_t> strides = DenseStrides(tensor.shape, Layout::kOutputsLast);
      entry->second = graph.AddConstant(tensor.name + ".outputs_last", tensor.dtype, tensor.shape,
                                        Permuted(tensor, strides));
      graph.tensor(entry->second).layout = Layout::kOutputsLast;
      ++report.changed;
    }
    graph.SetInput(id, kWeights, entry->second);
  }
  for (const auto& [source, made] : laid_out) {
    if (!graph.IsRead(source)) graph.EraseTensor(source);
  }
  return {};
}

}  // namespace tenon::converter
