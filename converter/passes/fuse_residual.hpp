// Makes the addition of another tensor to a conv's result the conv's residual input, with the
// addition's activation:  act(conv(x) + r)  ->  conv(x, residual = r, activation = act).
// Where both operands are convs that qualify, the one later in the order takes the other.
// Requires:   the conv's result has this one reader; the conv has no activation and no residual;
//             both operands have exactly the result's shape and dtype.
// Guarantees: no such pair is left but what the report declines. A conv that stands before the
//             other operand is moved behind it, to the place of the addition, which no cycle can
//             prevent, since the addition alone reads it.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status FuseResidual(Graph& graph, PassContext& context);

}  // namespace tenon::converter
