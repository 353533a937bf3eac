// Generates the code of segments, and runs it on the interpreter of descriptors.
#pragma once

#include <cstdint>
#include <string>

#include "backends/fpga/codegen/segment_code.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::test {

/// What was run.
struct RunSegments {
  int segments = 0;
  int descriptors = 0;
  size_t constant_bytes = 0;
  int64_t scratch_bytes = 0;              ///< of the segment that wants most
  int refused = 0;                        ///< segments
  std::vector<std::string> reasons = {};  ///< why
};

/// Of a KV260's accelerator.
[[nodiscard]] fpga::CodeTarget FullTarget();

/// Maps the graph to the accelerator, and compares what the code of its segments leaves in memory
/// with what the CPU's kernels give. Says what differs; empty if nothing does.
[[nodiscard]] std::string CompareCode(converter::Graph graph, uint64_t seed,
                                      const fpga::CodeTarget& target, RunSegments& run);

}  // namespace tenon::test
