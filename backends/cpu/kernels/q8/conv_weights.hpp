// How the packed GEMM sees a quantized convolution.
#pragma once

#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::q8 {

[[nodiscard]] GemmShape ConvShapeOf(const ConvGeometry& g);
[[nodiscard]] GemmWeightsView ConvWeightsView(const OpCall& op);

}  // namespace tenon::cpu::q8
