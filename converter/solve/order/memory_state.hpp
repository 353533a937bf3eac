// Keeps the nodes done so far (a downset of the precedence order) and what follows from them: which
// nodes are ready, how many bytes live, and what one more node would cost.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

struct StepCost {
  int64_t during = 0;  ///< live bytes while the node runs
  int64_t after = 0;   ///< live bytes once it is done
};

/// Moves between downsets by doing and undoing nodes. The problem must outlive it.
class MemoryState {
 public:
  explicit MemoryState(const MemoryProblem& problem);

  /// Switches to the downset whose bits are set in `done` (words() words).
  void Load(const uint64_t* done);

  [[nodiscard]] size_t words() const { return done_.size(); }
  [[nodiscard]] const std::vector<uint64_t>& done() const { return done_; }
  [[nodiscard]] size_t done_count() const { return done_count_; }
  [[nodiscard]] bool IsComplete() const { return done_count_ == problem_.nodes.size(); }
  [[nodiscard]] int64_t live() const { return live_; }
  [[nodiscard]] StepCost CostOf(Index node) const;
  /// Returns how many nodes Load, Apply and ApplyForced have examined since the beginning: about a
  /// hundredth of a microsecond each.
  [[nodiscard]] int64_t visits() const { return visits_; }

  /// Returns the ready nodes in `ready`, ascending.
  void GetReady(std::vector<Index>& ready) const;
  void Apply(Index node);  ///< must be ready
  void Undo(Index node);   ///< must be the last one applied

  /// Does the nodes that can be done at once without loss and appends them to `moves`:
  ///  - a ready node that runs within `level` bytes and leaves no more alive than before;
  ///  - a chain of nodes, each made ready by the one before, that ends in such a state.
  /// Any order that continues from here within `level` or more can be changed to do these first,
  /// and its peak does not grow: a storage that closes here closes in every larger downset, one
  /// that opens here may be open there already, and no prefix of the chain is cheaper than all of
  /// it (live bytes are submodular over downsets).
  void ApplyForced(int64_t level, std::vector<Index>& moves);
  /// Applies a ready node and then what is forced; both are appended to `moves`. Where nothing was
  /// forced at this level before, only nodes that share storages with those done now are examined,
  /// and all nodes if fewer bytes live.
  void ApplyForcedAfter(Index node, int64_t level, std::vector<Index>& moves);

 private:
  [[nodiscard]] bool IsReady(Index node) const {
    return (ready_[node / 64] >> (node % 64) & 1U) != 0;
  }
  void IndexStorages();
  /// Returns the ready nodes that use a storage of the moves from `first` on, ascending.
  void GetAffected(const std::vector<Index>& moves, size_t first, std::vector<Index>& affected);
  /// Does what is forced among scan_ and the nodes that this affects. Other nodes have been
  /// examined when `checked_at` bytes were alive.
  void Close(int64_t level, int64_t checked_at, std::vector<Index>& moves);
  /// What is known of a storage, together, because searches look at little else.
  struct Storage {
    int64_t bytes = 0;
    Index touched = 0;        ///< nodes done that touch it
    Index closes_at = 0;      ///< the node done after so many others closes it
    bool from_start = false;  ///< as MemoryStorage

    [[nodiscard]] bool IsOpen() const { return touched > 0 || from_start; }
    [[nodiscard]] bool ClosesNext() const { return touched == closes_at; }
  };

  [[nodiscard]] bool IsOpen(Index storage) const { return storages_[storage].IsOpen(); }
  [[nodiscard]] bool ClosesNext(Index storage) const { return storages_[storage].ClosesNext(); }
  [[nodiscard]] bool SavesBytes(const HandOver& hand_over) const {
    return ClosesNext(hand_over.from) && !IsOpen(hand_over.to);
  }
  bool FollowChain(Index node, int64_t level, int64_t target, int depth, int& tries,
                   std::vector<Index>& moves);

  const MemoryProblem& problem_;
  std::vector<size_t> successor_begins_;
  std::vector<Index> successors_;
  std::vector<size_t> node_storage_begins_;  ///< by node: where its storages begin
  std::vector<Index> node_storages_;
  std::vector<Storage> storages_;
  std::vector<size_t> toucher_begins_;  ///< by storage: where the nodes that touch it begin
  std::vector<Index> toucher_nodes_;
  std::vector<Index> waiting_for_;      ///< by node: predecessors not done
  std::vector<uint64_t> done_, ready_;  ///< bit sets of nodes
  std::vector<Index> scan_;             ///< nodes that Close looks at
  int64_t start_bytes_ = 0;
  int64_t live_ = 0;
  size_t done_count_ = 0;
  int64_t visits_ = 0;
};

}  // namespace tenon::converter
