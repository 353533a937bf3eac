// Stores the constant weights of float convolutions and matrix products in fewer bits. The ops
// still compute in f32: kernels convert the weights when they pack them.
//
// Requires:   fused ops; weights row-major.
// Guarantees: shapes and dtypes of activations do not change. Values change by the rounding of
//             weights, which the report states; with `kModel` they do not change, unless the
//             model's own weights were f16.
//
// f16: each weight rounded to nearest. i8: w = q * scale[m] with one scale per output channel, -127
// <= q <= 127. Where the f32 weights are exactly such products, q and scale are recovered without
// loss; other channels of few weights (depthwise), and tensors that would keep less than 34 dB of
// signal to noise, become f16.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] const char* Name(WeightsForm form);

/// Returns true if the graph, as imported and before constants are folded, dequantizes constants of
/// i8, as models with weights of i8 and arithmetic in f32 do.
[[nodiscard]] bool HasInt8Weights(const Graph& graph);

/// Stores weights in the form of PassContext::weights_form and adds to PassContext::weights. Calls
/// PassContext::why_worse_kernel.
[[nodiscard]] Status StoreWeights(Graph& graph, PassContext& context);

}  // namespace tenon::converter
