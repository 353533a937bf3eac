// Live bytes along a graph's order, estimated before kernels, layouts and locations are known.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/split/chain_builder.hpp"

namespace tenon::converter {

/// Reshapes, transposes, slices and concatenations count as views, elementwise ops as working in
/// place where the order allows it; a reshape of a channels-last image is a copy. Workspaces and
/// constants are not counted.
struct LiveProfile {
  LiveProfile(const Graph& graph, const GraphOrder& order);

  std::vector<int64_t> at_step;   ///< bytes live while the op at a position runs
  std::vector<int64_t> entering;  ///< bytes live before a position that are needed from there on
  /// What tensors share bytes with by views alone: an exit of a chain cannot take over what enters
  /// the chain, since its patches are written one by one.
  struct Storage {
    TensorId root = kNone;
    int64_t begin = INT64_MAX;  ///< position at which it becomes live; -1 for graph inputs
    int64_t bytes = 0;
  };
  std::vector<Storage> storages;  ///< by TensorId; constants have none
  int64_t peak = 0;

 private:
  void FindStorages(const Graph& graph, const GraphOrder& order);
};

}  // namespace tenon::converter
