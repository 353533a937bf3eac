// Which ops of a float graph compute with integers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Convolutions and matrix products by constant weights are what integers are for: `layers`. Other
/// ops follow where they stand between them.
struct IntegerOps {
  std::set<OpId> ops;       ///< layers included
  std::set<TensorId> inner; /**< between an op and the relu or clip behind it, which becomes its
                                 bounds: not quantized by itself */

  [[nodiscard]] bool Has(OpId id) const { return ops.contains(id); }
};

/// Why the op cannot compute with integers, whatever stands around it; empty if it can.
[[nodiscard]] std::string WhyFloat(const Graph& graph, OpId id);

/// The inputs that are quantized as activations: not weights, biases and indices.
[[nodiscard]] std::vector<TensorId> DataInputs(const Op& op);

/// All ops that can, without those in `keep`, and without ops other than layers where a float op
/// costs less: nobody reads their result as integers, or they compute on floats.
[[nodiscard]] IntegerOps ChooseIntegerOps(const Graph& graph, const std::set<OpId>& keep);

/// The activations that are quantized then: what integer ops read.
[[nodiscard]] std::set<TensorId> QuantizedTensors(const Graph& graph, const IntegerOps& chosen);

}  // namespace tenon::converter
