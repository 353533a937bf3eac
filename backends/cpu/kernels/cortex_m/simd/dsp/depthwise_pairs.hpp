// Depthwise convolutions by 3x3 windows: two rows of outputs at a time.
//
// Taking a channel's rows apart as planes, as other depthwise convolutions want them, costs more
// than the products of a few short rows. Here each half of a word is another row's: unpacking two
// rows of x gives such words of four channels at once, and a word serves two rows of outputs.
#pragma once

#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu::dsp {

/// Runs a depthwise convolution that DepthwiseCheck takes, with outputs, if it is one for this way:
/// of 3x3 windows with steps of 1, of i8 with weights around 0, of as many channels as words have
/// bytes, or a multiple, with room for four widened rows of x. Else false, and nothing is done. A
/// row of y is written when all rows of x that are still needed have been read.
[[nodiscard]] bool RunsDepthwisePairs(const KernelCall& call);

}  // namespace tenon::cpu::dsp
