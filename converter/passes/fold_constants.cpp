#include <algorithm>
#include <set>

#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Folding is refused for a big result that is cheap to compute, as products are not, since it
/// makes the plan larger.
bool GrowsTooMuch(const Graph& graph, const Op& op) {
  const OpTraits& traits = TraitsOf(op.kind);
  const bool is_product = traits.matrix_product || traits.convolution;
  const int64_t small = int64_t{1} << (is_product ? 24 : 20);
  int64_t in = 0;
  int64_t out = 0;
  for (const TensorId id : op.inputs) {
    if (id != kNone) in += graph.tensor(id).ByteSize();
  }
  for (const TensorId id : op.outputs) out += graph.tensor(id).ByteSize();
  return out > small && out > 4 * in;
}

Status Fold(Graph& graph, bool dequantizes, PassContext& context) {
  std::set<TensorId> constant;
  std::vector<TensorId> wanted;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const bool all_constant = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return input == kNone || graph.tensor(input).IsConstant() || constant.contains(input);
    });
    if (!all_constant || op.inputs.empty()) continue;
    if (op.kind == OpKind::kDequantize && !dequantizes) continue;
    if (GrowsTooMuch(graph, op)) {
      context.report.declined.push_back({op.name, "its constant result would be large"});
      continue;
    }
    constant.insert(op.outputs.begin(), op.outputs.end());
  }
  // Only what something else reads need be stored.
  for (const TensorId id : constant) {
    if (graph.tensor(id).IsConstant()) continue;
    const std::vector<OpId> readers = graph.Consumers(id);
    const bool read_outside = std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
      return !constant.contains(graph.op(reader).outputs[0]);
    });
    if (read_outside || graph.IsOutput(id)) wanted.push_back(id);
  }
  context.report.changed = static_cast<int>(wanted.size());
  return context.fold(graph, wanted);
}

}  // namespace

Status FoldConstants(Graph& graph, PassContext& context) {
  return Fold(graph, /*dequantizes=*/true, context);
}

Status FoldQuantizedConstants(Graph& graph, PassContext& context) {
  return Fold(graph, /*dequantizes=*/false, context);
}

}  // namespace tenon::converter
