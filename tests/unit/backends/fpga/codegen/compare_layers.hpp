// Runs segments as layers, and holds every layer against what the CPU's kernels give.
#pragma once

#include <cstdint>
#include <string>

#include "converter/ir/graph.hpp"

namespace tenon::test {

/// What the segments of some graphs were made of.
struct SeenLayers {
  int layers = 0;
  int residuals = 0;
  int tables = 0;
  int refused = 0;    ///< segments, for a sum without tables
  int elsewhere = 0;  ///< ops on the CPU
};

/// Maps the graph to the accelerator and runs its segments on random inputs. Says what differs, or
/// which segment is refused for another reason than a sum; empty if all is well.
[[nodiscard]] std::string CompareLayers(converter::Graph graph, uint64_t seed, SeenLayers& seen);

}  // namespace tenon::test
