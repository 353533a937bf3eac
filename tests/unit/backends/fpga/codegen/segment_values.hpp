// Segments of a graph that go to the accelerator, with the bytes that the CPU's kernels give for
// every tensor of them.
#pragma once

#include <string>
#include <vector>

#include "converter/code/segment_source.hpp"
#include "converter/ir/locations.hpp"
#include "tests/support/evaluate_graph.hpp"

namespace tenon::test {

/// A graph mapped to a board with an accelerator.
struct MappedGraph {
  std::string error;  ///< empty if it is mapped
  converter::Graph graph;
  converter::Locations locations;
  std::vector<std::vector<converter::OpId>> segments;  ///< the accelerator's
  size_t ops_elsewhere = 0;
};
[[nodiscard]] MappedGraph MapToAccelerator(converter::Graph graph);

/// Random bytes for every input of i8 or u8; others are as RandomInputs makes them.
[[nodiscard]] std::vector<std::vector<std::byte>> ByteInputs(const converter::Graph& graph,
                                                             uint64_t seed);

/// A block of a segment as it lies in memory.
[[nodiscard]] std::vector<uint8_t> BlockBytes(const MappedGraph& mapped, const Evaluation& values,
                                              const converter::TracedSource& traced, size_t block);

/// The block as the accelerator stores it: pixel by pixel, u8 with the top bit flipped.
[[nodiscard]] std::vector<int8_t> StoredMap(const fpga::SourceBlock& block,
                                            const std::vector<uint8_t>& bytes);

}  // namespace tenon::test
