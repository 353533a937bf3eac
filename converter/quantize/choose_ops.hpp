// Chooses which ops of a float graph compute with integers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// The ops that compute with integers. `layers` are convolutions and matrix products by constant
/// weights, which gain most; other ops join them where they are between layers.
struct IntegerOps {
  std::set<OpId> ops;       ///< layers included
  std::set<TensorId> inner; /**< between an op and the relu or clip behind it, which becomes its
                                 bounds: not quantized by itself */

  [[nodiscard]] bool Has(OpId id) const { return ops.contains(id); }
};

/// Returns why the op cannot compute with integers, independent of its neighbours; empty if it can.
[[nodiscard]] std::string WhyFloat(const Graph& graph, OpId id);

/// Returns the inputs that are quantized as activations: not weights, biases and indices.
[[nodiscard]] std::vector<TensorId> DataInputs(const Op& op);

/// Returns all ops that can compute with integers, without those in `keep`, and without ops other
/// than layers where a float op costs less: no op reads their result as integers, or their inputs
/// are floats.
[[nodiscard]] IntegerOps ChooseIntegerOps(const Graph& graph, const std::set<OpId>& keep);

/// Returns the activations that are then quantized: those that integer ops read.
[[nodiscard]] std::set<TensorId> QuantizedTensors(const Graph& graph, const IntegerOps& chosen);

}  // namespace tenon::converter
