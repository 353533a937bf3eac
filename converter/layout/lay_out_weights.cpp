#include <algorithm>
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

/// Counts through the indices of all axes but one, the last fastest.
class OtherAxes {
 public:
  OtherAxes(const Shape& shape, size_t left_out) : shape_(shape), left_out_(left_out) {}

  /// Goes on by one, and moves `from` and `to` by the strides of the axes that changed.
  void Next(const std::vector<int32_t>& from_strides, const std::vector<int32_t>& to_strides,
            int64_t& from, int64_t& to) {
    for (size_t axis = static_cast<size_t>(shape_.rank); axis-- > 0;) {
      if (axis == left_out_) continue;
      from += from_strides[axis];
      to += to_strides[axis];
      const int32_t extent = shape_[static_cast<int32_t>(axis)];
      if (++index_[axis] < extent) return;
      from -= int64_t{from_strides[axis]} * extent;
      to -= int64_t{to_strides[axis]} * extent;
      index_[axis] = 0;
    }
  }

 private:
  const Shape& shape_;
  size_t left_out_;
  std::vector<int32_t> index_ = std::vector<int32_t>(static_cast<size_t>(shape_.rank), 0);
};

/// Copies `tensor`'s elements of kBytes to where `strides` puts them. Those that become neighbours,
/// along `axis`, are taken a cache line at a time.
template <size_t kBytes>
void Permute(const Tensor& tensor, const std::vector<int32_t>& strides, size_t axis,
             std::byte* bytes) {
  constexpr int32_t kAtOnce = 64 / kBytes;
  const std::vector<int32_t> from_strides = DenseStrides(tensor.shape, Layout::kRowMajor);
  const size_t from_step = static_cast<size_t>(from_strides[axis]) * kBytes;
  const size_t to_step = static_cast<size_t>(strides[axis]) * kBytes;
  const int32_t extent = tensor.shape[static_cast<int32_t>(axis)];
  const size_t others =
      tensor.constant->size() / kBytes / static_cast<size_t>(extent > 0 ? extent : 1);
  for (int32_t first = 0; first < extent; first += kAtOnce) {
    const int32_t count = std::min(kAtOnce, extent - first);
    int64_t from = int64_t{first} * from_strides[axis];
    int64_t to = int64_t{first} * strides[axis];
    OtherAxes others_at(tensor.shape, axis);
    for (size_t i = 0; i < others; ++i) {
      const std::byte* source = tensor.constant->data() + static_cast<size_t>(from) * kBytes;
      std::byte* target = bytes + static_cast<size_t>(to) * kBytes;
      for (int32_t k = 0; k < count; ++k, source += from_step, target += to_step) {
        std::memcpy(target, source, kBytes);
      }
      others_at.Next(from_strides, strides, from, to);
    }
  }
}

/// Returns the longest axis whose elements are neighbours, or the last.
size_t AxisOfNeighbours(const Shape& shape, const std::vector<int32_t>& strides) {
  size_t longest = strides.size() - 1;
  int32_t extent = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (strides[axis] != 1 || shape[static_cast<int32_t>(axis)] <= extent) continue;
    longest = axis;
    extent = shape[static_cast<int32_t>(axis)];
  }
  return longest;
}

/// Returns the same elements, laid out by `strides` instead of row-major.
std::vector<std::byte> Permuted(const Tensor& tensor, const std::vector<int32_t>& strides) {
  if (strides.empty()) return *tensor.constant;  // a scalar
  std::vector<std::byte> bytes(tensor.constant->size());
  const size_t axis = AxisOfNeighbours(tensor.shape, strides);
  switch (DTypeBytes(tensor.dtype)) {
    case 1:
      Permute<1>(tensor, strides, axis, bytes.data());
      break;
    case 2:
      Permute<2>(tensor, strides, axis, bytes.data());
      break;
    case 4:
      Permute<4>(tensor, strides, axis, bytes.data());
      break;
    default:
      Permute<8>(tensor, strides, axis, bytes.data());
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
