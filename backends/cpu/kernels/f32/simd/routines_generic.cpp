// These routines assume 16 registers of four floats: the baseline of every 64-bit processor, or
// what the compiler makes of that.
#define TENON_F32_ISA generic
#define TENON_VECTOR_LANES 4
#define TENON_F32_TILE kGenericTile

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

const Routines kGenericRoutines = {
    "generic",
    generic::kTilePixels,
    generic::kTileWidth,
    generic::kWideTile,
    generic::RunTile,
    generic::RunDepthwise,
    generic::RunNarrow,
    generic::RunPixels,
    generic::RunWinogradInput,
    generic::RunWinogradOutput,
    generic::RunActivate,
    generic::RunMaxPool,
    generic::RunAveragePool,
    generic::RunSoftmax,
    generic::RunLrn,
    generic::RunLayerNorm,
    generic::RunJoin,
    generic::RunColumn,
    generic::RunFewRows,
    generic::RunGridSample,
    generic::RunPack,
};

}  // namespace tenon::cpu::f32
