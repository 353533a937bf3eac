// Describes what an order of ops means for memory, without ops and tensors: nodes use storages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Numbers a node or a storage.
using Index = uint32_t;

/// Sets of nodes are rows of bits in words of this many.
constexpr size_t kWordBits = 64;

/// A storage lives from the first node that uses it to the last one; at least one node uses it.
struct MemoryStorage {
  int64_t bytes = 0;
  bool from_start = false;  ///< alive before the first node: a graph input
  bool to_end = false;      ///< alive behind the last node: a graph output
};

/// An op may write one storage over another of the same size: if the node is the last to use `from`
/// and the first to use `to`, the two need not exist at the same time. Other nodes that use `to`
/// must come after this one.
struct HandOver {
  Index from = 0;
  Index to = 0;
};

struct MemoryNode {
  std::vector<Index> predecessors;  ///< each once; smaller than the node's own number
  std::vector<Index> storages;      ///< read or written, each once
  int64_t transient_bytes = 0;      ///< needed only while this node runs
  std::vector<HandOver> hand_overs;
};

/// The numbers of the nodes are an order that respects the predecessors: the source order.
struct MemoryProblem {
  std::vector<MemoryNode> nodes;
  std::vector<MemoryStorage> storages;
  int64_t base_bytes = 0;  ///< alive all the time
  /// Is alive while the first node runs, whichever it is: graph inputs that no node uses.
  int64_t first_node_bytes = 0;
};

/// Returns the largest sum of live bytes while a node runs. These are the storages that it or an
/// earlier node opened and no earlier node closed, less a hand-over, plus the node's transient
/// bytes; for the first one also first_node_bytes. `order` must be a permutation of the nodes that
/// respects the predecessors. Returns base_bytes if there are no nodes.
[[nodiscard]] int64_t PeakOf(const MemoryProblem& problem, const std::vector<Index>& order);

/// Returns true if `order` contains every node once and respects the predecessors.
[[nodiscard]] bool IsOrder(const MemoryProblem& problem, const std::vector<Index>& order);

/// Returns a peak that no order can be below: for some node, what it uses and what must be alive
/// while it runs because an ancestor and a descendant use it; and what must be alive while the
/// first and the last node run. O(nodes * edges / 64); beyond `kMostForAncestors` nodes only what a
/// node uses itself counts.
[[nodiscard]] int64_t LowerBoundOf(const MemoryProblem& problem);
inline constexpr size_t kMostForAncestors = 8192;

/// Returns the same problem backwards in time: node i becomes node count - 1 - i. An order read
/// backwards has the same peak there, except for first_node_bytes, which are left out.
[[nodiscard]] MemoryProblem Reversed(const MemoryProblem& problem);

}  // namespace tenon::converter
