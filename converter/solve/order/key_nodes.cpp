#include "converter/solve/order/key_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tenon::converter {
namespace {

Status CheckEndpoints(const Dag& dag) {
  for (const auto& [from, to] : dag.edges) {
    if (from < 0 || from >= dag.nodes || to < 0 || to >= dag.nodes) {
      return InternalError("edge ({}, {}) of a DAG of {} nodes", from, to, dag.nodes);
    }
  }
  return {};
}

bool EveryEdgeAscends(const Dag& dag) {
  return std::all_of(dag.edges.begin(), dag.edges.end(),
                     [](const auto& edge) { return edge.first < edge.second; });
}

/// Lists targets of the edges by source: those of node v are [begins[v], begins[v + 1]).
struct Successors {
  std::vector<size_t> begins;
  std::vector<int> targets;
};

Successors GroupBySource(const Dag& dag) {
  Successors result;
  result.begins.assign(static_cast<size_t>(dag.nodes) + 1, 0);
  for (const auto& edge : dag.edges) ++result.begins[static_cast<size_t>(edge.first) + 1];
  std::partial_sum(result.begins.begin(), result.begins.end(), result.begins.begin());
  result.targets.resize(dag.edges.size());
  std::vector<size_t> next(result.begins.begin(), result.begins.end() - 1);
  for (const auto& [from, to] : dag.edges) result.targets[next[static_cast<size_t>(from)]++] = to;
  return result;
}

/// Marks the nodes, given in topological order, that no edge bypasses. An edge from position i to
/// position j bypasses those in between; virtual edges lead to a source from before all and from a
/// sink to behind all. A path that avoids a node has one edge that bypasses it. Conversely, the
/// ends of such an edge can be reached from a source and reach a sink on their own side of the
/// node.
std::vector<bool> MarkKeyNodes(const Dag& dag, const std::vector<int>& order) {
  const auto count = static_cast<size_t>(dag.nodes);
  std::vector<size_t> position(count);
  for (size_t i = 0; i < count; ++i) position[static_cast<size_t>(order[i])] = i;
  std::vector<int64_t> change(count + 1, 0);  // of the number of edges that bypass it
  const auto pass = [&](size_t begin, size_t end) {
    if (begin >= end) return;
    ++change[begin];
    --change[end];
  };
  std::vector<bool> has_predecessor(count, false);
  std::vector<bool> has_successor(count, false);
  for (const auto& [from, to] : dag.edges) {
    has_successor[static_cast<size_t>(from)] = true;
    has_predecessor[static_cast<size_t>(to)] = true;
    pass(position[static_cast<size_t>(from)] + 1, position[static_cast<size_t>(to)]);
  }
  for (size_t v = 0; v < count; ++v) {
    if (!has_predecessor[v]) pass(0, position[v]);
    if (!has_successor[v]) pass(position[v] + 1, count);
  }
  std::vector<bool> is_key(count);
  int64_t passing = 0;
  for (size_t i = 0; i < count; ++i) {
    passing += change[i];
    is_key[i] = passing == 0;
  }
  return is_key;
}

void Append(std::vector<int>& to, const std::vector<int>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Joins subgraphs of fewer than `smallest` nodes to neighbours. It uses a stack: each is examined
/// when it and the one behind it are known.
std::vector<std::vector<int>> JoinSmall(std::vector<std::vector<int>> parts, size_t smallest) {
  std::vector<std::vector<int>> joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() >= smallest || (joined.empty() && i + 1 == parts.size())) {
      joined.push_back(std::move(parts[i]));
      continue;
    }
    const bool to_next =
        i + 1 < parts.size() && (joined.empty() || parts[i + 1].size() < joined.back().size());
    if (to_next) {
      Append(parts[i], parts[i + 1]);
      parts[i + 1] = std::move(parts[i]);
    } else {
      Append(joined.back(), parts[i]);
    }
  }
  return joined;
}

}  // namespace

Result<std::vector<int>> TopologicalOrder(const Dag& dag) {
  TENON_RETURN_IF_ERROR(CheckEndpoints(dag));
  std::vector<int> order(static_cast<size_t>(dag.nodes));
  if (EveryEdgeAscends(dag)) {
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  order.clear();
  const Successors successors = GroupBySource(dag);
  std::vector<int> waiting_for(static_cast<size_t>(dag.nodes), 0);
  for (const int target : successors.targets) ++waiting_for[static_cast<size_t>(target)];
  for (int v = 0; v < dag.nodes; ++v) {
    if (waiting_for[static_cast<size_t>(v)] == 0) order.push_back(v);
  }
  for (size_t next = 0; next < order.size(); ++next) {
    const auto v = static_cast<size_t>(order[next]);
    for (size_t k = successors.begins[v]; k < successors.begins[v + 1]; ++k) {
      const int target = successors.targets[k];
      if (--waiting_for[static_cast<size_t>(target)] == 0) order.push_back(target);
    }
  }
  if (order.size() != static_cast<size_t>(dag.nodes)) return InternalError("a DAG has a cycle");
  return order;
}

Result<std::vector<int>> FindKeyNodes(const Dag& dag) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int> order, TopologicalOrder(dag));
  const std::vector<bool> is_key = MarkKeyNodes(dag, order);
  std::vector<int> keys;
  for (size_t i = 0; i < order.size(); ++i) {
    if (is_key[i]) keys.push_back(order[i]);
  }
  return keys;
}

Result<std::vector<std::vector<int>>> CutAtKeyNodes(const Dag& dag, int smallest) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int> order, TopologicalOrder(dag));
  const std::vector<bool> is_key = MarkKeyNodes(dag, order);
  std::vector<std::vector<int>> parts;
  std::vector<int> part;
  for (size_t i = 0; i < order.size(); ++i) {
    part.push_back(order[i]);
    if (!is_key[i] && i + 1 < order.size()) continue;
    if (part.size() == 1 && !parts.empty()) {
      parts.back().push_back(part[0]);
    } else {
      parts.push_back(part);
    }
    part.clear();
  }
  return JoinSmall(std::move(parts), static_cast<size_t>(std::max(smallest, 1)));
}

std::vector<std::vector<int>> CutAtForksAndJoins(const Dag& dag,
                                                 const std::vector<std::vector<int>>& parts,
                                                 int largest) {
  const auto most = static_cast<size_t>(std::max(largest, 2));
  const auto count = static_cast<size_t>(dag.nodes);
  std::vector<size_t> position(count, 0);  // in the order of all parts
  size_t next = 0;
  for (const std::vector<int>& part : parts) {
    for (const int v : part) position[static_cast<size_t>(v)] = next++;
  }
  std::vector<int> in(count, 0);
  std::vector<int> out(count, 0);
  std::vector<int64_t> passing(count + 1, 0);  // by position: edges that lead beyond it
  for (const auto& [from, to] : dag.edges) {
    ++out[static_cast<size_t>(from)];
    ++in[static_cast<size_t>(to)];
    ++passing[position[static_cast<size_t>(from)]];
    --passing[position[static_cast<size_t>(to)]];
  }
  for (size_t i = 0; i < count; ++i) passing[i + 1] += passing[i];
  std::vector<std::vector<int>> result;
  size_t begin = 0;
  for (const std::vector<int>& part : parts) {
    size_t done = 0;
    while (part.size() - done > most) {
      size_t cut = 0;
      for (size_t i = done + most / 2; i < done + most; ++i) {
        const auto v = static_cast<size_t>(part[i]);
        if (in[v] < 2 && out[v] < 2) continue;
        if (cut == 0 || passing[begin + i] < passing[begin + cut]) cut = i;
      }
      if (cut == 0) break;  // nothing forks there: a run of ops has no other order
      result.emplace_back(part.begin() + static_cast<std::ptrdiff_t>(done),
                          part.begin() + static_cast<std::ptrdiff_t>(cut) + 1);
      done = cut + 1;
    }
    result.emplace_back(part.begin() + static_cast<std::ptrdiff_t>(done), part.end());
    begin += part.size();
  }
  return result;
}

}  // namespace tenon::converter
