// A segment of a compiled program as the code generator of an accelerator takes it.
#pragma once

#include <vector>

#include "backends/fpga/codegen/segment_source.hpp"
#include "converter/ir/locations.hpp"
#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// A segment with what its blocks are in the graph.
struct TracedSource {
  fpga::SegmentSource source;
  std::vector<TensorId> roots;  ///< by block
};

/// `ops` in the order in which they run. Borrows constants and attributes from the graph. With
/// `arena`, blocks say where they lie in it.
[[nodiscard]] TracedSource SourceOf(const Graph& graph, const Locations& locations,
                                    const std::vector<OpId>& ops, const ArenaPlan* arena = nullptr);

}  // namespace tenon::converter
