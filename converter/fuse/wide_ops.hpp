// The ops of a graph as the simulated wide device sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/solve/fuse/wide_device.hpp"

namespace tenon::converter {

/// Returns a text that is the same for ops that can be merged along their output channels: they
/// have one input (`kX`), attributes, type and shape of the rest of their weights in common, and
/// their weights and biases are constants. Empty for all other ops.
[[nodiscard]] std::string MergeKey(const Graph& graph, const Op& op);

/// Returns the facts of these ops: operations and bytes from the op table, 2 for a multiply-add.
[[nodiscard]] std::vector<WideOp> WideOpsOf(const Graph& graph, const std::vector<OpId>& ops);

}  // namespace tenon::converter
