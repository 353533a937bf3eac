// Fuses elementwise functions into the op that computes their input.
//   1. max and min with a constant number become clip (relu where the bound is 0).
//   2. Products that spell out a function become that function:
//        x sigmoid(x) -> silu;  x hard_sigmoid(x) with a = 1/6, b = 1/2 and x clip(x + 3, 0, 6) / 6
//        -> hard_swish;  x (1 + erf(x / sqrt 2)) / 2 -> gelu.
//   3. A unary op after a conv, matmul or binary op becomes that op's activation.
// Requires:   floats; the op before has no activation and this one reader.
// Guarantees: none of these is left but what the report declines.
// Numerics:   constants of a pattern may differ from their exact values by 1e-4 of them, as models
//             store them rounded.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status FuseActivation(Graph& graph, PassContext& context);

}  // namespace tenon::converter
