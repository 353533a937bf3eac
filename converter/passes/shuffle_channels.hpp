// Channel shuffles of bytes (Zhang et al., "ShuffleNet", 2018, section 3.1) where images are
// channels-last: reshape to groups, transpose, reshape back, written on [N, H, W, C].
//
// Requires:   moves on bytes (FuseQuantized).
// Guarantees: the same elements at the same places. Seen as channels-last, transposes to and from
//             [N, H, W, C] are views, so one copy is left of three.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status ShuffleChannels(Graph& graph, PassContext& context);

}  // namespace tenon::converter
