// Models of float16: the arithmetic is done in f32, which no result of f16 arithmetic is better
// than, and only ports keep the model's dtype.
//
// Requires:   a graph as imported.
// Guarantees: no tensor is f16 but graph inputs and outputs, each beside its cast. Roundings to f16
//             between ops are left out. Where weights of products were f16, Graph::weights says so.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status ComputeInF32(Graph& graph, PassContext& context);

}  // namespace tenon::converter
