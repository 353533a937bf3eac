// The least capacity of edges that part two nodes of a directed graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Finds it as the largest flow, by shortest augmenting paths in level graphs (E. A. Dinic 1970):
/// O(nodes^2 * edges), far less on the graphs at hand.
class MinimumCut {
 public:
  /// Of an edge that is never cut: far from overflow, even twice.
  static constexpr int64_t kEndless = INT64_MAX / 8;

  explicit MinimumCut(size_t nodes) : edges_of_(nodes) {}

  /// `backward`: the capacity in the other direction.
  void AddEdge(size_t from, size_t to, int64_t forward, int64_t backward = 0);
  /// Returns the least capacity between `source` and `sink`, which must differ, or kEndless if all
  /// that is more. To be called once.
  [[nodiscard]] int64_t Capacity(size_t source, size_t sink);
  /// Returns by node, after Capacity, whether it is on the source's side of the cut.
  [[nodiscard]] std::vector<bool> SourceSide() const;

 private:
  struct Edge {
    size_t to;
    int64_t left;  ///< of the capacity
  };

  bool SetLevels(size_t source, size_t sink);
  int64_t Push(size_t source, size_t sink);

  std::vector<Edge> edges_;  ///< each is followed by the one back
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int64_t> level_;  ///< steps from the source; -1: it is not reached
  std::vector<size_t> next_;    ///< by node: the edge that is tried next
};

}  // namespace tenon::converter
