#include "converter/order/memory_state.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tenon::converter {
namespace {

constexpr size_t kWordBits = 64;
constexpr int kLongestChain = 16;
constexpr int kMostChainTries = 64;  // per call: forks in chains would multiply

void SetBit(std::vector<uint64_t>& set, Index i) {
  set[i / kWordBits] |= uint64_t{1} << (i % kWordBits);
}
void ClearBit(std::vector<uint64_t>& set, Index i) {
  set[i / kWordBits] &= ~(uint64_t{1} << (i % kWordBits));
}

}  // namespace

MemoryState::MemoryState(const MemoryProblem& problem) : problem_(problem) {
  const size_t count = problem.nodes.size();
  successor_begins_.assign(count + 1, 0);
  touchers_.assign(problem.storages.size(), 0);
  for (const MemoryNode& node : problem.nodes) {
    for (const Index p : node.predecessors) ++successor_begins_[p + 1];
    for (const Index s : node.storages) ++touchers_[s];
  }
  std::partial_sum(successor_begins_.begin(), successor_begins_.end(), successor_begins_.begin());
  successors_.resize(successor_begins_.back());
  std::vector<size_t> next = successor_begins_;
  for (size_t v = 0; v < count; ++v) {
    for (const Index p : problem.nodes[v].predecessors) {
      successors_[next[p]++] = static_cast<Index>(v);
    }
  }
  start_bytes_ = problem.base_bytes;
  for (const MemoryStorage& storage : problem.storages) {
    if (storage.from_start) start_bytes_ += storage.bytes;
  }
  const std::vector<uint64_t> nothing((count + kWordBits - 1) / kWordBits, 0);
  done_ = nothing;
  ready_ = nothing;
  touched_.resize(problem.storages.size());
  waiting_for_.resize(count);
  Load(nothing.data());
}

void MemoryState::Load(const uint64_t* done) {
  std::copy(done, done + done_.size(), done_.begin());
  std::fill(ready_.begin(), ready_.end(), 0);
  std::fill(touched_.begin(), touched_.end(), 0);
  done_count_ = 0;
  for (Index v = 0; v < problem_.nodes.size(); ++v) {
    const MemoryNode& node = problem_.nodes[v];
    if ((done_[v / kWordBits] >> (v % kWordBits) & 1U) != 0) {
      ++done_count_;
      waiting_for_[v] = 0;
      for (const Index s : node.storages) ++touched_[s];
      continue;
    }
    Index waiting = 0;
    for (const Index p : node.predecessors) {
      waiting += (done_[p / kWordBits] >> (p % kWordBits) & 1U) == 0 ? 1 : 0;
    }
    waiting_for_[v] = waiting;
    if (waiting == 0) SetBit(ready_, v);
  }
  live_ = start_bytes_;
  for (size_t s = 0; s < touched_.size(); ++s) {
    const MemoryStorage& storage = problem_.storages[s];
    if (touched_[s] == 0) continue;
    if (!storage.from_start) live_ += storage.bytes;
    if (touched_[s] == touchers_[s] && !storage.to_end) live_ -= storage.bytes;
  }
}

StepCost MemoryState::CostOf(Index node) const {
  const MemoryNode& what = problem_.nodes[node];
  StepCost cost{live_ + what.transient_bytes, live_};
  for (const Index s : what.storages) {
    const int64_t bytes = problem_.storages[s].bytes;
    const bool opens = !IsOpen(s);
    if (opens) cost.during += bytes;
    cost.after += (opens ? bytes : 0) - (ClosesNext(s) ? bytes : 0);
  }
  for (const HandOver& hand_over : what.hand_overs) {
    if (!SavesBytes(hand_over)) continue;
    cost.during -= problem_.storages[hand_over.to].bytes;
    break;
  }
  return cost;
}

void MemoryState::GetReady(std::vector<Index>& ready) const {
  ready.clear();
  for (size_t word = 0; word < ready_.size(); ++word) {
    for (uint64_t bits = ready_[word]; bits != 0; bits &= bits - 1) {
      ready.push_back(static_cast<Index>(word * kWordBits) +
                      static_cast<Index>(std::countr_zero(bits)));
    }
  }
}

void MemoryState::Apply(Index node) {
  live_ = CostOf(node).after;
  for (const Index s : problem_.nodes[node].storages) ++touched_[s];
  SetBit(done_, node);
  ClearBit(ready_, node);
  ++done_count_;
  for (size_t k = successor_begins_[node]; k < successor_begins_[node + 1]; ++k) {
    if (--waiting_for_[successors_[k]] == 0) SetBit(ready_, successors_[k]);
  }
}

void MemoryState::Undo(Index node) {
  for (size_t k = successor_begins_[node]; k < successor_begins_[node + 1]; ++k) {
    if (waiting_for_[successors_[k]]++ == 0) ClearBit(ready_, successors_[k]);
  }
  --done_count_;
  SetBit(ready_, node);
  ClearBit(done_, node);
  for (const Index s : problem_.nodes[node].storages) --touched_[s];
  live_ -= CostOf(node).after - live_;
}

bool MemoryState::FollowChain(Index node, int64_t level, int64_t target, int depth, int& tries,
                              std::vector<Index>& moves) {
  if (--tries < 0) return false;
  const StepCost cost = CostOf(node);
  if (cost.during > level) return false;
  Apply(node);
  moves.push_back(node);
  if (cost.after <= target) return true;
  for (size_t k = successor_begins_[node]; depth > 1 && k < successor_begins_[node + 1]; ++k) {
    if (waiting_for_[successors_[k]] != 0) continue;
    if (FollowChain(successors_[k], level, target, depth - 1, tries, moves)) return true;
  }
  moves.pop_back();
  Undo(node);
  return false;
}

void MemoryState::ApplyForced(int64_t level, std::vector<Index>& moves) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int longest : {1, kLongestChain}) {
      int tries = longest == 1 ? static_cast<int>(problem_.nodes.size()) : kMostChainTries;
      GetReady(scan_);
      for (const Index v : scan_) {
        if (FollowChain(v, level, live_, longest, tries, moves)) moved = true;
        // What a chain has taken may stand in the list still.
        if (moved && longest > 1) break;
      }
      if (moved) break;
    }
  }
}

}  // namespace tenon::converter
