// Four floats a register, 16 registers: the baseline of every 64-bit processor, or what the
// compiler makes of that.
#define TENON_VECTOR_ISA generic
#define TENON_VECTOR_LANES 4
#define TENON_VECTOR_TILE_PIXELS 3
#define TENON_VECTOR_TILE_WIDTH 16

#include "backends/cpu/kernels/vector/simd/activate.hpp"
#include "backends/cpu/kernels/vector/simd/depthwise.hpp"
#include "backends/cpu/kernels/vector/simd/lrn.hpp"
#include "backends/cpu/kernels/vector/simd/pool.hpp"
#include "backends/cpu/kernels/vector/simd/softmax.hpp"
#include "backends/cpu/kernels/vector/simd/tile.hpp"
#include "backends/cpu/kernels/vector/simd/winograd.hpp"

namespace tenon::cpu::vector {

const Routines kGenericRoutines = {
    "generic",
    generic::kTilePixels,
    generic::kTileWidth,
    generic::RunTile,
    generic::RunDepthwise,
    generic::RunWinogradInput,
    generic::RunWinogradOutput,
    generic::RunActivate,
    generic::RunMaxPool,
    generic::RunAveragePool,
    generic::RunSoftmax,
    generic::RunLrn,
};

}  // namespace tenon::cpu::vector
