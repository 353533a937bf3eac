// NEON of 64-bit Arm: 32 registers of four floats, fused multiply-adds by lane.
#define TENON_VECTOR_ISA neon
#define TENON_VECTOR_LANES 4
#define TENON_VECTOR_TILE_PIXELS 6
#define TENON_VECTOR_TILE_WIDTH 16

#include "backends/cpu/kernels/vector/simd/activate.hpp"
#include "backends/cpu/kernels/vector/simd/depthwise.hpp"
#include "backends/cpu/kernels/vector/simd/lrn.hpp"
#include "backends/cpu/kernels/vector/simd/pool.hpp"
#include "backends/cpu/kernels/vector/simd/softmax.hpp"
#include "backends/cpu/kernels/vector/simd/tile.hpp"
#include "backends/cpu/kernels/vector/simd/winograd.hpp"

namespace tenon::cpu::vector {

const Routines kNeonRoutines = {
    "neon",
    neon::kTilePixels,
    neon::kTileWidth,
    neon::RunTile,
    neon::RunDepthwise,
    neon::RunWinogradInput,
    neon::RunWinogradOutput,
    neon::RunActivate,
    neon::RunMaxPool,
    neon::RunAveragePool,
    neon::RunSoftmax,
    neon::RunLrn,
};

}  // namespace tenon::cpu::vector
