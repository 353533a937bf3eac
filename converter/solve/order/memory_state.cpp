#include "converter/solve/order/memory_state.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

constexpr int kLongestChain = 16;
constexpr int kMostChainTries = 32;  // per start: forks in chains would multiply

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
  for (const MemoryNode& node : problem.nodes) {
    for (const Index p : node.predecessors) ++successor_begins_[p + 1];
  }
  std::partial_sum(successor_begins_.begin(), successor_begins_.end(), successor_begins_.begin());
  successors_.resize(successor_begins_.back());
  std::vector<size_t> next = successor_begins_;
  for (size_t v = 0; v < count; ++v) {
    for (const Index p : problem.nodes[v].predecessors) {
      successors_[next[p]++] = static_cast<Index>(v);
    }
  }
  IndexStorages();
  start_bytes_ = problem.base_bytes;
  for (const MemoryStorage& storage : problem.storages) {
    if (storage.from_start) start_bytes_ += storage.bytes;
  }
  const std::vector<uint64_t> nothing((count + kWordBits - 1) / kWordBits, 0);
  done_ = nothing;
  ready_ = nothing;
  waiting_for_.resize(count);
  Load(nothing.data());
}

void MemoryState::IndexStorages() {
  const size_t count = problem_.storages.size();
  node_storage_begins_.push_back(0);
  std::vector<Index> touchers(count, 0);
  for (const MemoryNode& node : problem_.nodes) {
    node_storages_.insert(node_storages_.end(), node.storages.begin(), node.storages.end());
    node_storage_begins_.push_back(node_storages_.size());
    for (const Index s : node.storages) ++touchers[s];
  }
  toucher_begins_.assign(count + 1, 0);
  std::partial_sum(touchers.begin(), touchers.end(), toucher_begins_.begin() + 1);
  toucher_nodes_.resize(toucher_begins_.back());
  std::vector<size_t> next = toucher_begins_;
  for (Index v = 0; v < problem_.nodes.size(); ++v) {
    for (const Index s : problem_.nodes[v].storages) toucher_nodes_[next[s]++] = v;
  }
  storages_.resize(count);
  for (size_t s = 0; s < count; ++s) {
    const MemoryStorage& storage = problem_.storages[s];
    // What is alive behind the last node is closed by none.
    const Index closes_at = storage.to_end ? UINT32_MAX : touchers[s] - 1;
    storages_[s] = {storage.bytes, 0, closes_at, storage.from_start};
  }
}

void MemoryState::Load(const uint64_t* done) {
  std::copy(done, done + done_.size(), done_.begin());
  std::fill(ready_.begin(), ready_.end(), 0);
  for (Storage& storage : storages_) storage.touched = 0;
  done_count_ = 0;
  visits_ += static_cast<int64_t>(problem_.nodes.size());
  for (Index v = 0; v < problem_.nodes.size(); ++v) {
    const MemoryNode& node = problem_.nodes[v];
    if ((done_[v / kWordBits] >> (v % kWordBits) & 1U) != 0) {
      ++done_count_;
      waiting_for_[v] = 0;
      for (const Index s : node.storages) ++storages_[s].touched;
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
  for (const Storage& storage : storages_) {
    if (storage.touched == 0) continue;
    if (!storage.from_start) live_ += storage.bytes;
    if (storage.touched - 1 == storage.closes_at) live_ -= storage.bytes;
  }
}

StepCost MemoryState::CostOf(Index node) const {
  const MemoryNode& what = problem_.nodes[node];
  StepCost cost{live_ + what.transient_bytes, live_};
  for (size_t k = node_storage_begins_[node]; k < node_storage_begins_[node + 1]; ++k) {
    const Storage& storage = storages_[node_storages_[k]];
    const int64_t opened = storage.IsOpen() ? 0 : storage.bytes;
    cost.during += opened;
    cost.after += opened - (storage.ClosesNext() ? storage.bytes : 0);
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
  ++visits_;
  for (size_t k = node_storage_begins_[node]; k < node_storage_begins_[node + 1]; ++k) {
    Storage& storage = storages_[node_storages_[k]];
    if (!storage.IsOpen()) live_ += storage.bytes;
    if (storage.ClosesNext()) live_ -= storage.bytes;
    ++storage.touched;
  }
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
  for (size_t k = node_storage_begins_[node]; k < node_storage_begins_[node + 1]; ++k) {
    Storage& storage = storages_[node_storages_[k]];
    --storage.touched;
    if (!storage.IsOpen()) live_ -= storage.bytes;
    if (storage.ClosesNext()) live_ += storage.bytes;
  }
}

bool MemoryState::FollowChain(Index node, int64_t level, int64_t target, int depth, int& tries,
                              std::vector<Index>& moves) {
  if (--tries < 0) return false;
  ++visits_;
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

void MemoryState::GetAffected(const std::vector<Index>& moves, size_t first,
                              std::vector<Index>& affected) {
  affected.clear();
  for (size_t i = first; i < moves.size(); ++i) {
    const Index node = moves[i];
    for (size_t n = node_storage_begins_[node]; n < node_storage_begins_[node + 1]; ++n) {
      const Index s = node_storages_[n];
      visits_ += static_cast<int64_t>(toucher_begins_[s + 1] - toucher_begins_[s]);
      for (size_t k = toucher_begins_[s]; k < toucher_begins_[s + 1]; ++k) {
        if (IsReady(toucher_nodes_[k])) affected.push_back(toucher_nodes_[k]);
      }
    }
  }
  SortAndUnique(affected);
}

void MemoryState::ApplyForced(int64_t level, std::vector<Index>& moves) {
  GetReady(scan_);
  Close(level, live_, moves);
}

void MemoryState::ApplyForcedAfter(Index node, int64_t level, std::vector<Index>& moves) {
  const int64_t checked_at = live_;
  Apply(node);
  moves.push_back(node);
  GetAffected(moves, moves.size() - 1, scan_);
  if (live_ < checked_at) GetReady(scan_);
  Close(level, checked_at, moves);
}

void MemoryState::Close(int64_t level, int64_t checked_at, std::vector<Index>& moves) {
  while (!scan_.empty()) {
    if (live_ < checked_at) {
      GetReady(scan_);
      checked_at = live_;
    }
    const size_t known = moves.size();
    for (const int longest : {1, kLongestChain}) {
      for (const Index v : scan_) {
        int tries = kMostChainTries;
        if (IsReady(v)) FollowChain(v, level, live_, longest, tries, moves);
      }
    }
    GetAffected(moves, known, scan_);
  }
}

}  // namespace tenon::converter
