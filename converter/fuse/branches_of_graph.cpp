#include "converter/fuse/branches_of_graph.hpp"

#include "converter/solve/sort_and_unique.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {

bool IsViewByKind(const Op& op) { return GetOpHostRow(op.kind).view != ViewKind::kNone; }

void BranchGraphBuilder::Add(OpId id, bool is_executed) {
  const Op& op = graph_.op(id);
  std::vector<int32_t> before;
  for (const TensorId input : op.inputs) {
    const auto at = static_cast<size_t>(input);
    if (input == kNone || at >= writers_.size()) continue;
    before.insert(before.end(), writers_[at].begin(), writers_[at].end());
  }
  SortAndUnique(before);
  if (is_executed) {
    const auto node = static_cast<int32_t>(branches_.op_of_node.size());
    branches_.op_of_node.push_back(id);
    branches_.graph.predecessors.push_back(std::move(before));
    before = {node};
  }
  for (const TensorId output : op.outputs) {
    const auto at = static_cast<size_t>(output);
    if (at >= writers_.size()) writers_.resize(at + 1);
    writers_[at] = before;
  }
}

}  // namespace tenon::converter
