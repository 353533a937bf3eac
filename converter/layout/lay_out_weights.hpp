// Puts constant weights into the order in which their kernels read them, so that nothing is packed
// when the plan is loaded: they are used in place from the plan file.
//
// Requires:   kernels chosen.
// Guarantees: the values of no tensor change; a constant that kernels want in two orders is there
//             twice.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status LayOutWeights(Graph& graph, PassContext& context);

}  // namespace tenon::converter
