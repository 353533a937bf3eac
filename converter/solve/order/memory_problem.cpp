#include "converter/solve/order/memory_problem.hpp"

#include <algorithm>
#include <bit>

#include "converter/solve/order/memory_state.hpp"

namespace tenon::converter {
namespace {

using BitRow = std::vector<uint64_t>;

/// Stores a square matrix of bits, one row per node.
class BitRows {
 public:
  explicit BitRows(size_t count)
      : words_((count + kWordBits - 1) / kWordBits), bits_(words_ * count, 0) {}
  void Set(size_t row, size_t column) {
    bits_[row * words_ + column / kWordBits] |= uint64_t{1} << (column % kWordBits);
  }
  void Include(size_t row, size_t other) {
    for (size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= bits_[other * words_ + w];
  }
  void IncludeInto(BitRow& sum, size_t row) const {
    for (size_t w = 0; w < words_; ++w) sum[w] |= bits_[row * words_ + w];
  }
  [[nodiscard]] size_t words() const { return words_; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// Returns the most that a hand-over can save.
int64_t SavedBytes(const MemoryProblem& problem, size_t node) {
  int64_t saved = 0;
  for (const HandOver& hand_over : problem.nodes[node].hand_overs) {
    saved = std::max(saved, problem.storages[hand_over.to].bytes);
  }
  return saved;
}

/// Returns the bytes of what each node uses, less a hand-over, plus its transient bytes.
std::vector<int64_t> OwnBytes(const MemoryProblem& problem) {
  std::vector<int64_t> bytes;
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    const MemoryNode& node = problem.nodes[v];
    int64_t sum = problem.base_bytes + node.transient_bytes - SavedBytes(problem, v);
    for (const Index s : node.storages) sum += problem.storages[s].bytes;
    bytes.push_back(sum);
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

BitRows DescendantsOf(const MemoryProblem& problem) {
  BitRows descendants(problem.nodes.size());
  for (size_t v = problem.nodes.size(); v-- > 0;) {
    for (const Index p : problem.nodes[v].predecessors) {
      descendants.Include(p, v);
      descendants.Set(p, v);
    }
  }
  return descendants;
}

/// Adds the bytes of every storage to the nodes that must run while it lives without using it: one
/// of its users comes before them (or it exists from the start), and one behind them (or it stays
/// to the end).
void AddBytesAcross(const MemoryProblem& problem, std::vector<int64_t>& bytes) {
  const BitRows ancestors = AncestorsOf(problem);
  const BitRows descendants = DescendantsOf(problem);
  std::vector<std::vector<Index>> touchers(problem.storages.size());
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    for (const Index s : problem.nodes[v].storages) touchers[s].push_back(static_cast<Index>(v));
  }
  for (size_t s = 0; s < touchers.size(); ++s) {
    const MemoryStorage& storage = problem.storages[s];
    BitRow open(ancestors.words(), storage.from_start ? ~uint64_t{0} : 0);
    BitRow needed(ancestors.words(), storage.to_end ? ~uint64_t{0} : 0);
    for (const Index t : touchers[s]) {
      if (!storage.from_start) descendants.IncludeInto(open, t);
      if (!storage.to_end) ancestors.IncludeInto(needed, t);
    }
    for (const Index t : touchers[s]) open[t / kWordBits] &= ~(uint64_t{1} << (t % kWordBits));
    for (size_t w = 0; w < open.size(); ++w) {
      for (uint64_t both = open[w] & needed[w]; both != 0; both &= both - 1) {
        const size_t v = w * kWordBits + static_cast<size_t>(std::countr_zero(both));
        if (v < bytes.size()) bytes[v] += storage.bytes;
      }
    }
  }
}

/// Returns what must be alive while the last node runs, whichever that is: all that stays to the
/// end, and what the node uses in addition.
int64_t BytesAtTheEnd(const MemoryProblem& problem) {
  std::vector<bool> is_sink(problem.nodes.size(), true);
  int64_t to_end = problem.base_bytes;
  for (const MemoryStorage& storage : problem.storages)
    to_end += storage.to_end ? storage.bytes : 0;
  for (const MemoryNode& node : problem.nodes) {
    for (const Index p : node.predecessors) is_sink[p] = false;
  }
  int64_t smallest = INT64_MAX;
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    if (!is_sink[v]) continue;
    int64_t bytes = to_end + problem.nodes[v].transient_bytes - SavedBytes(problem, v);
    for (const Index s : problem.nodes[v].storages) {
      if (!problem.storages[s].to_end) bytes += problem.storages[s].bytes;
    }
    smallest = std::min(smallest, bytes);
  }
  return problem.nodes.empty() ? to_end : smallest;
}

}  // namespace

int64_t PeakOf(const MemoryProblem& problem, const std::vector<Index>& order) {
  MemoryState state(problem);
  int64_t peak = problem.base_bytes;
  for (const Index v : order) {
    const int64_t besides = state.done_count() == 0 ? problem.first_node_bytes : 0;
    peak = std::max(peak, state.CostOf(v).during + besides);
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
  int64_t bound = std::max(BytesAtTheEnd(problem), BytesAtTheEnd(Reversed(problem)));
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

}  // namespace tenon::converter
