// Removes channels of quantized networks that hold one value whatever the input is. Trained
// networks have many: a channel whose weights died has a bias so large beside them that every sum
// is rounded to the same byte.
//
// Requires:   integer ops fused; zero points not yet folded into biases.
// Guarantees: no result changes by a bit. Of a convolution whose outputs are read by one
// convolution
//             or matrix product, through depthwise convolutions, pools and a flattening, the
//             constant channels are gone (but for some that round their number up to a multiple of
//             4), and the reader's bias has what they added. A constant channel that stays has
//             factors for which kernels have their short ways.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status RemoveConstantChannels(Graph& graph, PassContext& context);

}  // namespace tenon::converter
