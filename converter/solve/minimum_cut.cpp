#include "converter/solve/minimum_cut.hpp"

#include <algorithm>

namespace tenon::converter {

void MinimumCut::AddEdge(size_t from, size_t to, int64_t forward, int64_t backward) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, forward});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, backward});
}

bool MinimumCut::SetLevels(size_t source, size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<size_t> reached = {source};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const size_t edge : edges_of_[reached[i]]) {
      const size_t to = edges_[edge].to;
      if (edges_[edge].left == 0 || level_[to] >= 0) continue;
      level_[to] = level_[reached[i]] + 1;
      reached.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

/// Pushes along one shortest path, found without recursion; 0: there is none left.
int64_t MinimumCut::Push(size_t source, size_t sink) {
  std::vector<size_t> path;  // edges
  size_t node = source;
  while (node != sink) {
    size_t& next = next_[node];
    if (next < edges_of_[node].size()) {
      const size_t edge = edges_of_[node][next];
      if (edges_[edge].left > 0 && level_[edges_[edge].to] == level_[node] + 1) {
        path.push_back(edge);
        node = edges_[edge].to;
      } else {
        ++next;
      }
    } else if (path.empty()) {
      return 0;
    } else {  // a dead end
      node = edges_[path.back() ^ 1].to;
      ++next_[node];
      path.pop_back();
    }
  }
  int64_t pushed = kEndless;
  for (const size_t edge : path) pushed = std::min(pushed, edges_[edge].left);
  for (const size_t edge : path) {
    edges_[edge].left -= pushed;
    edges_[edge ^ 1].left += pushed;
  }
  return pushed;
}

int64_t MinimumCut::Capacity(size_t source, size_t sink) {
  int64_t total = 0;
  while (SetLevels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const int64_t pushed = Push(source, sink)) total = std::min(total + pushed, kEndless);
  }
  return total;
}

std::vector<bool> MinimumCut::SourceSide() const {
  std::vector<bool> side(level_.size());
  for (size_t node = 0; node < side.size(); ++node) side[node] = level_[node] >= 0;
  return side;
}

}  // namespace tenon::converter
