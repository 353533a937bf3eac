// What random graphs lack: layers that go step by step, whose state a tie can keep, and ops that
// came with them and with detectors.
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"

namespace tenon::test {

/// Adds up to four layers that read any tensors of the graph; each result is a further output, and
/// each state of a recurrent layer an input beside an output of its type.
void AddLayers(uint64_t seed, converter::Graph& graph);

}  // namespace tenon::test
