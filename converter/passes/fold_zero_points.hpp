// Takes the zero point of a product's input out of the device's work: what it adds to each output's
// sum is known before, for a constant matrix or filter.
//
// Requires:   integer ops fused; weights row-major, as importers leave them; nothing split yet, so
//             that parts share the new constants.
// Guarantees: no result changes by a bit. Where nothing is padded, the zero point is gone and the
//             bias has taken it in. Where padding reads as the zero point, both stay, and the bias
//             with the zero point in it stands beside them as input 7.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Ops for which PassContext::wants_folded_bias is false are left as they are.
[[nodiscard]] Status FoldZeroPoints(Graph& graph, PassContext& context);

}  // namespace tenon::converter
