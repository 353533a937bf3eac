// What an order of ops means for memory, without ops and tensors: nodes that touch storages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Numbers of nodes and storages.
using Index = uint32_t;

/// Bytes that live from the first node that touches them to the last one; at least one does.
struct MemoryStorage {
  int64_t bytes = 0;
  bool from_start = false;  ///< alive before the first node: a graph input
  bool to_end = false;      ///< alive behind the last node: a graph output
};

/// An op may write one storage over another of the same size: if the node is the last to touch
/// `from` and the first to touch `to`, the two need not be there at once. Nodes that touch `to`
/// must come after this one.
struct HandOver {
  Index from = 0;
  Index to = 0;
};

struct MemoryNode {
  std::vector<Index> predecessors;  ///< each once; smaller than the node's own number
  std::vector<Index> storages;      ///< read or written, each once
  int64_t transient_bytes = 0;      ///< needed besides while this node runs
  std::vector<HandOver> hand_overs;
};

/// The numbers of the nodes are an order that respects the predecessors: the source order.
struct MemoryProblem {
  std::vector<MemoryNode> nodes;
  std::vector<MemoryStorage> storages;
  int64_t base_bytes = 0;  ///< alive all the time
  /// Alive while the first node runs, whichever it is: graph inputs that no node touches.
  int64_t first_node_bytes = 0;
};

/// Largest sum of live bytes while a node runs: of the storages opened by it or before it and not
/// closed before it, less a hand-over, plus what it needs besides; for the first one also
/// first_node_bytes. `order` must be a permutation of the nodes that respects the predecessors.
/// base_bytes without nodes.
[[nodiscard]] int64_t PeakOf(const MemoryProblem& problem, const std::vector<Index>& order);

/// True if `order` holds every node once and respects the predecessors.
[[nodiscard]] bool IsOrder(const MemoryProblem& problem, const std::vector<Index>& order);

/// A peak that no order can be below: for some node, what it touches and what must be alive across
/// it because an ancestor touches it and a descendant does; and what must be alive while the first
/// and the last node run. O(nodes * edges / 64); beyond `kMostForAncestors` nodes only what a node
/// touches itself counts.
[[nodiscard]] int64_t LowerBoundOf(const MemoryProblem& problem);
inline constexpr size_t kMostForAncestors = 8192;

/// The same problem backwards in time: node i becomes node count - 1 - i. An order read backwards
/// has the same peak there, first_node_bytes apart, which are left out.
[[nodiscard]] MemoryProblem Reversed(const MemoryProblem& problem);

}  // namespace tenon::converter
