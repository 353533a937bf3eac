// Computes convolutions with few channels or with kernels other than 1x1; it copies bands of the
// input to the stack.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "runtime/backend_api/parallel.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::q8 {

/// Describes one execution. The input of one output pixel must fit into kMostBandBytes.
struct BandConv {
  const PackedGemm* packed;
  const GemmEpilogue* epilogue;
  ConvGeometry geometry;  ///< strides in elements
  GemmShape shape;
  const uint8_t* x;
  uint8_t* y;
  int y_bytes;  ///< of an output element
  uint32_t flip;
};

void RunBandConv(const BandConv& conv, const ParallelRunner* parallel);

}  // namespace tenon::cpu::q8
