#include <queue>
#include <random>
#include <utility>

#include "converter/solve/order/list_orders.hpp"

namespace tenon::converter {

std::vector<Index> RandomOrder(const MemoryProblem& problem, uint64_t seed) {
  const size_t count = problem.nodes.size();
  std::vector<std::vector<Index>> successors(count);
  std::vector<size_t> missing(count);
  std::vector<Index> ready;
  for (Index node = 0; node < count; ++node) {
    missing[node] = problem.nodes[node].predecessors.size();
    for (const Index before : problem.nodes[node].predecessors) successors[before].push_back(node);
    if (missing[node] == 0) ready.push_back(node);
  }
  // The engine is fixed by the standard; its distributions are not.
  std::mt19937_64 random(seed);
  std::vector<Index> order;
  order.reserve(count);
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const Index node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const Index after : successors[node]) {
      if (--missing[after] == 0) ready.push_back(after);
    }
  }
  return order;
}

std::vector<Index> PriorityOrder(const MemoryProblem& problem,
                                 const std::vector<double>& priority) {
  const size_t count = problem.nodes.size();
  std::vector<std::vector<Index>> successors(count);
  std::vector<size_t> missing(count);
  std::priority_queue<std::pair<double, Index>> ready;  // the later of equal numbers is less
  const auto push = [&](Index node) {
    ready.emplace(node < priority.size() ? priority[node] : 0, UINT32_MAX - node);
  };
  for (Index node = 0; node < count; ++node) {
    missing[node] = problem.nodes[node].predecessors.size();
    for (const Index before : problem.nodes[node].predecessors) successors[before].push_back(node);
    if (missing[node] == 0) push(node);
  }
  std::vector<Index> order;
  order.reserve(count);
  while (!ready.empty()) {
    const Index node = UINT32_MAX - ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const Index after : successors[node]) {
      if (--missing[after] == 0) push(after);
    }
  }
  return order;
}

}  // namespace tenon::converter
