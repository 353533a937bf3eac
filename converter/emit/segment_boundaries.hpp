// What crosses the boundaries of segments, as the plan lists it (sdk/schema/plan.fbs, Segment).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/locations.hpp"

namespace tenon::converter {

struct EmittedSegment {
  std::vector<OpId> ops;  ///< in order of execution
  std::string backend;
  int32_t worker = 0;
  std::vector<TensorId> reads;   ///< filled in
  std::vector<TensorId> writes;  ///< filled in
};

/// Fills in `reads` and `writes` of segments of other backends than "cpu"; segments come in the
/// order in which they are in the plan, and their ops stand in the graph in an order of execution.
/// O(operands log operands), but for concatenations, whose parts are compared with every reader.
void FindBoundaries(const Graph& graph, const Locations& locations,
                    std::vector<EmittedSegment>& segments);

}  // namespace tenon::converter
