// Estimates the effect of cutting a graph into patches, before kernels, layouts and locations are
// known.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/split/chain.hpp"
#include "converter/split/chain_builder.hpp"

namespace tenon::converter {

// Estimates live bytes along a graph's order, before kernels, layouts and locations are known.

/// Where a part of a concatenation lies that other ops read long before (a skip connection).
enum class WaitingParts : uint8_t {
  kInside,  ///< in the concatenation, whose storage is alive, whole, from the first part on
  kApart,   ///< on its own until the concatenation: true if that is cut into patches, which copy
            ///< rows
};

/// Treats reshapes, transposes, slices and concatenations as views, and elementwise ops as in place
/// where the order allows it; a reshape of a channels-last image is a copy. Workspaces and
/// constants are not counted.
struct LiveProfile {
  LiveProfile(const Graph& graph, const GraphOrder& order,
              WaitingParts waiting = WaitingParts::kInside);

  std::vector<int64_t> at_step;   ///< bytes live while the op at a position runs
  std::vector<int64_t> entering;  ///< bytes live before a position that are needed from there on
  /// Bytes that tensors share through views alone: an exit of a chain cannot take over what enters
  /// the chain, since its patches are written one by one.
  struct Storage {
    TensorId root = kNone;
    int64_t begin = INT64_MAX;  ///< position at which it becomes live; -1 for graph inputs
    int64_t bytes = 0;
    int64_t last = -1;  ///< position at which it is read last; INT64_MAX for graph outputs
  };
  std::vector<Storage> storages;  ///< by TensorId; constants have none
  int64_t peak = 0;
  bool has_waiting_parts = false;

 private:
  void FindStorages(const Graph& graph, const GraphOrder& order, WaitingParts waiting);
};

// Computes what a chain cut into patches needs and costs, without changing the graph.

struct PatchEstimate {
  /// The most bytes of the chain's results that are alive at once: buffers of patches, rows kept
  /// for the next patch, and exits, whole from their first row on. Workspaces, and tensors that
  /// enter the chain or are alive across it, are not counted.
  int64_t peak = 0;
  int64_t copied_bytes = 0;     ///< rows that are moved, counted at every move
  int64_t recomputed_work = 0;  ///< multiply-accumulates and elementary ops done twice
  int64_t ops = 0;              ///< executed ops, copies included
  int64_t moves = 0;            ///< of them, those that copy rows for the next patch or tile
  int64_t effort = 0;           ///< ops visited by the estimate
};

/// O(min(parts, 12) x ops): of many patches, only the first, the last and some in between are
/// examined. An op may write over an operand that it reads last, as the arena planner allows;
/// layouts' copies and gaps are not estimated.
[[nodiscard]] PatchEstimate EstimatePatches(const Chain& chain, const Patching& patching);

}  // namespace tenon::converter
