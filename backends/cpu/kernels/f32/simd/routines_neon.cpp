// NEON of 64-bit Arm has 32 registers of four floats, and fused multiply-adds by lane.
#define TENON_F32_ISA neon
#define TENON_VECTOR_LANES 4
#define TENON_F32_TILE kNeonTile

#include "backends/cpu/kernels/f32/simd/activate.hpp"
#include "backends/cpu/kernels/f32/simd/column.hpp"
#include "backends/cpu/kernels/f32/simd/depthwise.hpp"
#include "backends/cpu/kernels/f32/simd/few_rows.hpp"
#include "backends/cpu/kernels/f32/simd/gemm.hpp"
#include "backends/cpu/kernels/f32/simd/grid_sample.hpp"
#include "backends/cpu/kernels/f32/simd/join.hpp"
#include "backends/cpu/kernels/f32/simd/layer_norm.hpp"
#include "backends/cpu/kernels/f32/simd/lrn.hpp"
#include "backends/cpu/kernels/f32/simd/narrow.hpp"
#include "backends/cpu/kernels/f32/simd/pack.hpp"
#include "backends/cpu/kernels/f32/simd/pixels.hpp"
#include "backends/cpu/kernels/f32/simd/pool.hpp"
#include "backends/cpu/kernels/f32/simd/softmax.hpp"
#include "backends/cpu/kernels/f32/simd/winograd.hpp"

namespace tenon::cpu::f32 {

const Routines kNeonRoutines = {
    "neon",
    neon::kTilePixels,
    neon::kTileWidth,
    neon::kWideTile,
    neon::RunTile,
    neon::RunDepthwise,
    neon::RunNarrow,
    neon::RunPixels,
    neon::RunWinogradInput,
    neon::RunWinogradOutput,
    neon::RunActivate,
    neon::RunMaxPool,
    neon::RunAveragePool,
    neon::RunSoftmax,
    neon::RunLrn,
    neon::RunLayerNorm,
    neon::RunJoin,
    neon::RunColumn,
    neon::RunFewRows,
    neon::RunGridSample,
    neon::RunPack,
};

}  // namespace tenon::cpu::f32
