// Live bytes along a graph's order, estimated before kernels, layouts and locations are known.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/split/chain_builder.hpp"

namespace tenon::converter {

/// Reshapes, transposes, slices and concatenations count as views, elementwise ops as working in
/// place where the order allows it. Workspaces and constants are not counted.
struct LiveProfile {
  LiveProfile(const Graph& graph, const GraphOrder& order);

  std::vector<int64_t> at_step;   ///< bytes live while the op at a position runs
  std::vector<int64_t> entering;  ///< bytes live before a position that are needed from there on
  /// By TensorId: the position at which its storage becomes live, -1 for graph inputs; INT64_MAX
  /// for constants.
  std::vector<int64_t> storage_begin;
  int64_t peak = 0;
};

}  // namespace tenon::converter
