// Folds multiplication, division, addition and subtraction by a constant per output channel (or by
// one number) into the weights and bias of the conv or matmul before it:
//   y = g (w x + b) + h   ->   w'[m] = g[m] w[m];  b'[m] = g[m] b[m] + h[m].
// That is how an imported BatchNormalization, lowered to mul and add, disappears, and how a bias
// added on its own becomes the op's bias.
// Requires:   the op before has this one reader, no activation and no residual; its bias, and where
//             g is not 1 its weights, are f32 constants.
// Guarantees: no such pair is left but what the report declines. An activation of the removed op
//             becomes the conv's or matmul's.
// Numerics:   g, h and the products are computed in f64 and stored in f32.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status FuseAffine(Graph& graph, PassContext& context);

}  // namespace tenon::converter
