#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Finds constants that are equal: small ones by what they hold, others by where it is stored.
class ConstantIds {
 public:
  /// Returns the first tensor that holds the same as this one, which may be computed.
  TensorId Canonical(const Graph& graph, TensorId id) {
    constexpr size_t kSmallBytes = 256;
    if (id == kNone || !graph.tensor(id).IsConstant()) return id;
    const Tensor& tensor = graph.tensor(id);
    const std::vector<int32_t> dims(tensor.shape.dims, tensor.shape.dims + tensor.shape.rank);
    const bool is_small = tensor.constant->size() <= kSmallBytes;
    const Key key = {tensor.dtype, tensor.layout, dims, is_small ? nullptr : tensor.constant.get(),
                     is_small ? *tensor.constant : std::vector<std::byte>()};
    return first_.emplace(key, id).first->second;
  }

 private:
  using Key = std::tuple<DType, Layout, std::vector<int32_t>, const void*, std::vector<std::byte>>;
  std::map<Key, TensorId> first_;
};

/// What two ops must have in common to compute the same.
using Work =
    std::tuple<OpKind, std::string, std::string, std::vector<int32_t>, std::vector<TensorId>>;

Work WorkOf(const Graph& graph, const Op& op, ConstantIds& constants) {
  std::vector<TensorId> inputs = op.inputs;
  for (TensorId& input : inputs) input = constants.Canonical(graph, input);
  return {op.kind, op.backend, op.unit, op.attributes.words(), std::move(inputs)};
}

}  // namespace

Status MergeEqualOps(Graph& graph, PassContext& context) {
  ConstantIds constants;
  std::map<Work, OpId> first;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.outputs.size() != 1 || op.kind == OpKind::kCopy) continue;
    const auto [found, is_new] = first.emplace(WorkOf(graph, op, constants), id);
    if (is_new) continue;
    const TensorId result = graph.op(found->second).outputs[0];
    if (!WhyNotBypass(graph, op.outputs[0], result).empty()) continue;
    RecordFusion(graph, found->second, id);
    BypassAndErase(graph, id, result);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
