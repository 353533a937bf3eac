#include "converter/order/memory_problem.hpp"

#include <algorithm>

#include "converter/order/memory_state.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kWordBits = 64;

/// Square matrix of bits, one row per node.
class BitRows {
 public:
  explicit BitRows(size_t count)
      : words_((count + kWordBits - 1) / kWordBits), bits_(words_ * count, 0) {}
  void Set(size_t row, size_t column) {
    bits_[row * words_ + column / kWordBits] |= uint64_t{1} << (column % kWordBits);
  }
  [[nodiscard]] bool Has(size_t row, size_t column) const {
    return (bits_[row * words_ + column / kWordBits] >> (column % kWordBits) & 1U) != 0;
  }
  void Include(size_t row, size_t other) {
    for (size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= bits_[other * words_ + w];
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// Bytes of what each node touches, less a hand-over, plus what it needs besides.
std::vector<int64_t> OwnBytes(const MemoryProblem& problem) {
  std::vector<int64_t> bytes;
  for (const MemoryNode& node : problem.nodes) {
    int64_t sum = problem.base_bytes + node.transient_bytes;
    for (const Index s : node.storages) sum += problem.storages[s].bytes;
    int64_t saved = 0;
    for (const HandOver& hand_over : node.hand_overs) {
      saved = std::max(saved, problem.storages[hand_over.to].bytes);
    }
    bytes.push_back(sum - saved);
  }
  return bytes;
}

BitRows AncestorsOf(const MemoryProblem& problem) {
  BitRows ancestors(problem.nodes.size());
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    for (const Index p : problem.nodes[v].predecessors) {
      ancestors.Include(v, p);
      ancestors.Set(v, p);
    }
  }
  return ancestors;
}

/// Adds the bytes of every storage to the nodes that must run while it lives without touching it.
void AddBytesAcross(const MemoryProblem& problem, std::vector<int64_t>& bytes) {
  const size_t count = problem.nodes.size();
  const BitRows ancestors = AncestorsOf(problem);
  std::vector<std::vector<Index>> touchers(problem.storages.size());
  for (size_t v = 0; v < count; ++v) {
    for (const Index s : problem.nodes[v].storages) touchers[s].push_back(static_cast<Index>(v));
  }
  for (size_t s = 0; s < touchers.size(); ++s) {
    const MemoryStorage& storage = problem.storages[s];
    for (size_t v = 0; v < count; ++v) {
      bool touches = false;
      bool open = storage.from_start;
      bool needed = storage.to_end;
      for (const Index t : touchers[s]) {
        touches |= t == v;
        open = open || ancestors.Has(v, t);
        needed = needed || ancestors.Has(t, v);
      }
      if (!touches && open && needed) bytes[v] += storage.bytes;
    }
  }
}

}  // namespace

int64_t PeakOf(const MemoryProblem& problem, const std::vector<Index>& order) {
  MemoryState state(problem);
  int64_t peak = problem.base_bytes;
  for (const Index v : order) {
    peak = std::max(peak, state.CostOf(v).during);
    state.Apply(v);
  }
  return peak;
}

bool IsOrder(const MemoryProblem& problem, const std::vector<Index>& order) {
  if (order.size() != problem.nodes.size()) return false;
  std::vector<bool> done(order.size(), false);
  for (const Index v : order) {
    if (v >= done.size() || done[v]) return false;
    for (const Index p : problem.nodes[v].predecessors) {
      if (!done[p]) return false;
    }
    done[v] = true;
  }
  return true;
}

int64_t LowerBoundOf(const MemoryProblem& problem) {
  std::vector<int64_t> bytes = OwnBytes(problem);
  if (problem.nodes.size() <= kMostForAncestors) AddBytesAcross(problem, bytes);
  int64_t bound = problem.base_bytes;
  for (const int64_t b : bytes) bound = std::max(bound, b);
  return bound;
}

MemoryProblem Reversed(const MemoryProblem& problem) {
  const size_t count = problem.nodes.size();
  const auto mirrored = [count](size_t v) { return static_cast<Index>(count - 1 - v); };
  MemoryProblem result;
  result.base_bytes = problem.base_bytes;
  result.storages = problem.storages;
  for (MemoryStorage& storage : result.storages) std::swap(storage.from_start, storage.to_end);
  result.nodes.resize(count);
  for (size_t v = 0; v < count; ++v) {
    const MemoryNode& node = problem.nodes[v];
    MemoryNode& mirror = result.nodes[mirrored(v)];
    mirror.storages = node.storages;
    mirror.transient_bytes = node.transient_bytes;
    for (const HandOver& h : node.hand_overs) mirror.hand_overs.push_back({h.to, h.from});
    for (const Index p : node.predecessors) {
      result.nodes[mirrored(p)].predecessors.push_back(mirrored(v));
    }
  }
  return result;
}

MemoryProblem PartOf(const MemoryProblem& problem, const std::vector<Index>& nodes) {
  constexpr Index kAbsent = UINT32_MAX;
  std::vector<Index> local_node(problem.nodes.size(), kAbsent);
  for (size_t i = 0; i < nodes.size(); ++i) local_node[nodes[i]] = static_cast<Index>(i);
  std::vector<Index> local_storage(problem.storages.size(), kAbsent);
  MemoryProblem part;
  part.base_bytes = problem.base_bytes;
  for (const Index v : nodes) {
    for (const Index s : problem.nodes[v].storages) {
      if (local_storage[s] != kAbsent) continue;
      local_storage[s] = static_cast<Index>(part.storages.size());
      part.storages.push_back(problem.storages[s]);
    }
  }
  // What nodes before or behind the part touch is alive at its start or end.
  const Index first = nodes.empty() ? 0 : nodes.front();
  std::vector<bool> before(problem.storages.size(), false);
  std::vector<bool> behind(problem.storages.size(), false);
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    if (local_node[v] != kAbsent) continue;
    for (const Index s : problem.nodes[v].storages) (v < first ? before : behind)[s] = true;
  }
  for (size_t s = 0; s < problem.storages.size(); ++s) {
    const bool from_start = before[s] || problem.storages[s].from_start;
    const bool to_end = behind[s] || problem.storages[s].to_end;
    if (local_storage[s] != kAbsent) {
      part.storages[local_storage[s]].from_start = from_start;
      part.storages[local_storage[s]].to_end = to_end;
    } else if (from_start && to_end) {
      part.base_bytes += problem.storages[s].bytes;
    }
  }
  for (const Index v : nodes) {
    MemoryNode node = problem.nodes[v];
    std::erase_if(node.predecessors, [&](Index p) { return local_node[p] == kAbsent; });
    for (Index& p : node.predecessors) p = local_node[p];
    for (Index& s : node.storages) s = local_storage[s];
    for (HandOver& h : node.hand_overs) h = {local_storage[h.from], local_storage[h.to]};
    part.nodes.push_back(std::move(node));
  }
  return part;
}

}  // namespace tenon::converter
