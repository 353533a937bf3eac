#include "converter/solve/fuse/group_order.hpp"

#include <functional>
#include <queue>

namespace tenon::converter {
namespace {

constexpr size_t kNowhere = SIZE_MAX;

}  // namespace

GroupedOrder OrderWithGroups(const BranchGraph& graph, const std::vector<int32_t>& ops,
                             const std::vector<std::vector<int32_t>>& groups) {
  // By op: the place of the first op of its group; so groups are numbered by where they begin.
  std::vector<size_t> node(graph.size(), kNowhere);
  std::vector<std::vector<int32_t>> members(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) node[static_cast<size_t>(ops[i])] = i;
  for (const std::vector<int32_t>& group : groups) {
    std::vector<int32_t> here;
    size_t first = kNowhere;
    for (const int32_t op : group) {
      const size_t place = node[static_cast<size_t>(op)];
      if (place == kNowhere) continue;
      here.push_back(op);
      first = place < first ? place : first;
    }
    for (const int32_t op : here) node[static_cast<size_t>(op)] = first;
    if (!here.empty()) members[first] = std::move(here);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (node[static_cast<size_t>(ops[i])] == i && members[i].empty()) members[i] = {ops[i]};
  }
  std::vector<std::vector<size_t>> successors(ops.size());
  std::vector<size_t> missing(ops.size(), 0);
  for (const int32_t op : ops) {
    const size_t at = node[static_cast<size_t>(op)];
    for (const int32_t before : graph.predecessors[static_cast<size_t>(op)]) {
      const size_t from = node[static_cast<size_t>(before)];
      if (from == kNowhere || from == at) continue;
      successors[from].push_back(at);
      ++missing[at];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!members[i].empty() && missing[i] == 0) ready.push(i);
  }
  GroupedOrder order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.ops.insert(order.ops.end(), members[next].begin(), members[next].end());
    if (members[next].size() > 1) order.groups.push_back(members[next]);
    for (const size_t successor : successors[next]) {
      if (--missing[successor] == 0) ready.push(successor);
    }
  }
  return order;
}

}  // namespace tenon::converter
