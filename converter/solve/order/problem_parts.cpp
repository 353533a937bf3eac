#include "converter/solve/order/problem_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::converter {

ProblemParts::ProblemParts(const MemoryProblem& problem, std::vector<Index> order)
    : problem_(problem),
      order_(std::move(order)),
      position_(order_.size()),
      first_(problem.storages.size(), kAbsent),
      last_(problem.storages.size(), kAbsent),
      live_before_(order_.size() + 1, 0),
      local_storage_(problem.storages.size(), kAbsent) {
  const auto count = static_cast<Index>(order_.size());
  for (Index at = 0; at < count; ++at) {
    position_[order_[at]] = at;
    for (const Index s : problem.nodes[order_[at]].storages) {
      if (first_[s] == kAbsent) first_[s] = at;
      last_[s] = at;
    }
  }
  // Stores changes from one position to the next first, then sums them up.
  for (size_t s = 0; s < first_.size(); ++s) {
    const MemoryStorage& storage = problem.storages[s];
    if (first_[s] == kAbsent && !(storage.from_start && storage.to_end)) continue;
    const size_t begin = storage.from_start ? 0 : first_[s] + size_t{1};
    const size_t end = storage.to_end ? count : last_[s];
    if (begin > end) continue;
    live_before_[begin] += storage.bytes;
    if (end < count) live_before_[end + 1] -= storage.bytes;
  }
  std::partial_sum(live_before_.begin(), live_before_.end(), live_before_.begin());
}

MemoryProblem ProblemParts::Part(size_t begin, size_t end) {
  MemoryProblem part;
  part.base_bytes = problem_.base_bytes + live_before_[begin];
  std::vector<Index> touched;
  for (size_t at = begin; at < end; ++at) {
    for (const Index s : problem_.nodes[order_[at]].storages) {
      if (local_storage_[s] != kAbsent) continue;
      local_storage_[s] = static_cast<Index>(part.storages.size());
      touched.push_back(s);
      // What nodes before or behind the part use is alive at its start or end.
      MemoryStorage storage = problem_.storages[s];
      storage.from_start = storage.from_start || first_[s] < begin;
      storage.to_end = storage.to_end || last_[s] >= end;
      if (storage.from_start) part.base_bytes -= storage.bytes;
      part.storages.push_back(storage);
    }
  }
  const auto outside = [&](Index p) { return position_[p] < begin; };
  for (size_t at = begin; at < end; ++at) {
    MemoryNode node = problem_.nodes[order_[at]];
    std::erase_if(node.predecessors, outside);
    for (Index& p : node.predecessors) p = position_[p] - static_cast<Index>(begin);
    for (Index& s : node.storages) s = local_storage_[s];
    for (HandOver& h : node.hand_overs) h = {local_storage_[h.from], local_storage_[h.to]};
    part.nodes.push_back(std::move(node));
  }
  for (const Index s : touched) local_storage_[s] = kAbsent;
  return part;
}

void ProblemParts::Reorder(size_t begin, const std::vector<Index>& local) {
  const auto at = order_.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::vector<Index> nodes(at, at + static_cast<std::ptrdiff_t>(local.size()));
  for (size_t i = 0; i < local.size(); ++i) {
    order_[begin + i] = nodes[local[i]];
    position_[order_[begin + i]] = static_cast<Index>(begin + i);
  }
}

}  // namespace tenon::converter
