// Makes every graph output a tensor of its own that an op writes, so that it can be handed to the
// user: an output that is a graph input, a constant, or another output too, gets a copy.
//
// Requires:   nothing.
// Guarantees: outputs are distinct tensors with producers; names of ports unchanged.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status IsolateOutputs(Graph& graph, PassContext& context);

}  // namespace tenon::converter
