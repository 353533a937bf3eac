// Removes what nobody reads: ops whose results are unused, constants, orphan tensors.
// Requires:   nothing.
// Guarantees: every op contributes to a graph output; every constant is read. Graph inputs stay,
//             read or not: users feed them by name.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status EliminateDeadCode(Graph& graph, PassContext& context);

}  // namespace tenon::converter
