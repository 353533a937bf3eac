// Describes which op needs which, and cuts a graph into branches: chains without forks and joins
// inside (docs/methods.md, F1). This code depends on neither graphs nor boards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Ops are numbered in an order that respects the predecessors.
struct BranchGraph {
  std::vector<std::vector<int32_t>> predecessors;  ///< by op, each once; smaller than its number

  [[nodiscard]] size_t size() const { return predecessors.size(); }
};

/// Returns by op the ops that need it, ascending.
[[nodiscard]] std::vector<std::vector<int32_t>> SuccessorsOf(const BranchGraph& graph);

/// Answers in O(1) whether there is a path between two ops, also once ops have been contracted to
/// one node: then from any of them, to any of them.
class PathTable {
 public:
  /// O(ops * edges / 64).
  explicit PathTable(const BranchGraph& graph);

  /// Returns true if `to` needs `from`, directly or not. An op does not need itself.
  [[nodiscard]] bool HasPath(int32_t from, int32_t to) const {
    return (Row(from)[static_cast<size_t>(to) / 64] >> (static_cast<uint32_t>(to) % 64) & 1) != 0;
  }
  /// Returns true if there is a path between two of the ops, so that contracting them would close a
  /// cycle.
  [[nodiscard]] bool HasPathAmong(const std::vector<int32_t>& ops) const;

  /// Contracts ops among which there is no path. O(ops * ops / 64).
  void Contract(const std::vector<int32_t>& ops);

 private:
  [[nodiscard]] const uint64_t* Row(int32_t op) const {
    return bits_.data() + static_cast<size_t>(op) * words_;
  }
  uint64_t* Row(int32_t op) { return bits_.data() + static_cast<size_t>(op) * words_; }

  size_t ops_;
  size_t words_;
  std::vector<uint64_t> bits_;  ///< by op: a row with the ops that need it
};

/// Returns true if the graph has no cycle once the ops of each group are contracted to one node.
/// `group_of_op`: any number by op; ops with the same number are a group. O(ops + edges).
[[nodiscard]] bool IsAcyclicContracted(const BranchGraph& graph,
                                       const std::vector<int32_t>& group_of_op);

/// Cuts the graph into the smallest blocks that follow one another: every op of a block needs all
/// ops of earlier blocks. Ops that can start together are in one block. In the order of the
/// blocks, their ops ascending. O(ops * ops).
[[nodiscard]] std::vector<std::vector<int32_t>> FindBlocks(const BranchGraph& graph);

/// Cuts the graph into its branches: each op is in one of them. Of two neighbours in a branch the
/// first has no other successor and the second no other predecessor; branches are as long as they
/// can be. Walking down from a fork, up from a join, down from a source or up from a sink until a
/// fork or a join ends the walk finds these same chains (F2), since what a walk begins with is an
/// end of one. O(ops + edges).
[[nodiscard]] std::vector<std::vector<int32_t>> FindBranches(const BranchGraph& graph);

}  // namespace tenon::converter
