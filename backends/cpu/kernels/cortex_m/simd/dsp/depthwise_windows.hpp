// Depthwise convolutions with windows of any size but 3x3, whose taps are read where they lie.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

/// Runs a convolution that DepthwiseCheck takes and that has outputs; y must not overlap x. It
/// needs no workspace.
void RunDepthwiseWindows(const OpCall& op);

}  // namespace tenon::cpu::dsp
