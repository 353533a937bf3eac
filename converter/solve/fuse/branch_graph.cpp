#include "converter/solve/fuse/branch_graph.hpp"

#include <algorithm>

namespace tenon::converter {

std::vector<std::vector<int32_t>> SuccessorsOf(const BranchGraph& graph) {
  std::vector<std::vector<int32_t>> successors(graph.size());
  for (size_t op = 0; op < graph.size(); ++op) {
    for (const int32_t predecessor : graph.predecessors[op]) {
      successors[static_cast<size_t>(predecessor)].push_back(static_cast<int32_t>(op));
    }
  }
  return successors;
}

PathTable::PathTable(const BranchGraph& graph)
    : ops_(graph.size()), words_((graph.size() + 63) / 64), bits_(ops_ * words_, 0) {
  for (size_t op = ops_; op-- > 0;) {
    const uint64_t* needed = Row(static_cast<int32_t>(op));
    for (const int32_t predecessor : graph.predecessors[op]) {
      uint64_t* row = Row(predecessor);
      for (size_t w = 0; w < words_; ++w) row[w] |= needed[w];
      row[op / 64] |= uint64_t{1} << (op % 64);
    }
  }
}

bool PathTable::HasPathAmong(const std::vector<int32_t>& ops) const {
  for (const int32_t a : ops) {
    for (const int32_t b : ops) {
      if (a != b && HasPath(a, b)) return true;
    }
  }
  return false;
}

void PathTable::Contract(const std::vector<int32_t>& ops) {
  std::vector<uint64_t> reached(words_, 0);
  std::vector<uint64_t> members(words_, 0);
  for (const int32_t op : ops) {
    const auto bit = static_cast<size_t>(op);
    members[bit / 64] |= uint64_t{1} << (bit % 64);
    for (size_t w = 0; w < words_; ++w) reached[w] |= Row(op)[w];
  }
  for (size_t op = 0; op < ops_; ++op) {
    uint64_t* row = Row(static_cast<int32_t>(op));
    uint64_t leads_there = 0;
    for (size_t w = 0; w < words_; ++w) leads_there |= row[w] & members[w];
    const bool is_member = (members[op / 64] >> (op % 64) & 1) != 0;
    if (leads_there == 0 && !is_member) continue;
    for (size_t w = 0; w < words_; ++w) {
      row[w] |= reached[w] | (leads_there != 0 ? members[w] : 0);
    }
  }
}

bool IsAcyclicContracted(const BranchGraph& graph, const std::vector<int32_t>& group_of_op) {
  const size_t ops = graph.size();
  std::vector<int32_t> names = group_of_op;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<size_t> node(ops);
  for (size_t op = 0; op < ops; ++op) {
    node[op] = static_cast<size_t>(std::lower_bound(names.begin(), names.end(), group_of_op[op]) -
                                   names.begin());
  }
  std::vector<std::vector<size_t>> successors(names.size());
  std::vector<size_t> missing(names.size(), 0);
  for (size_t op = 0; op < ops; ++op) {
    for (const int32_t predecessor : graph.predecessors[op]) {
      successors[node[static_cast<size_t>(predecessor)]].push_back(node[op]);
      ++missing[node[op]];
    }
  }
  std::vector<size_t> ready;
  for (size_t n = 0; n < names.size(); ++n) {
    if (missing[n] == 0) ready.push_back(n);
  }
  size_t placed = 0;
  while (!ready.empty()) {
    const size_t n = ready.back();
    ready.pop_back();
    ++placed;
    for (const size_t successor : successors[n]) {
      if (--missing[successor] == 0) ready.push_back(successor);
    }
  }
  return placed == names.size();
}

std::vector<std::vector<int32_t>> FindBlocks(const BranchGraph& graph) {
  const PathTable paths(graph);
  const auto ops = static_cast<int32_t>(graph.size());
  std::vector<std::vector<int32_t>> blocks;
  // Numbers are an order, so blocks are runs of numbers: one ends where no later op is independent
  // of any op up to there.
  int32_t end = 0;
  for (int32_t op = 0; op < ops; ++op) {
    if (op >= end) {
      blocks.emplace_back();
      end = op + 1;
    }
    blocks.back().push_back(op);
    for (int32_t later = ops - 1; later >= end; --later) {
      if (!paths.HasPath(op, later)) end = later + 1;
    }
  }
  return blocks;
}

std::vector<std::vector<int32_t>> FindBranches(const BranchGraph& graph) {
  const std::vector<std::vector<int32_t>> successors = SuccessorsOf(graph);
  const auto continues_one = [&](size_t op) {
    const std::vector<int32_t>& before = graph.predecessors[op];
    return before.size() == 1 && successors[static_cast<size_t>(before[0])].size() == 1;
  };
  std::vector<std::vector<int32_t>> branches;
  for (size_t op = 0; op < graph.size(); ++op) {
    if (continues_one(op)) continue;
    std::vector<int32_t> branch = {static_cast<int32_t>(op)};
    for (;;) {
      const std::vector<int32_t>& next = successors[static_cast<size_t>(branch.back())];
      if (next.size() != 1 || !continues_one(static_cast<size_t>(next[0]))) break;
      branch.push_back(next[0]);
    }
    branches.push_back(std::move(branch));
  }
  return branches;
}

}  // namespace tenon::converter
