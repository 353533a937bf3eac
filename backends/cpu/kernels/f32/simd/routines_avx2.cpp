// AVX2 with FMA has 16 registers of eight floats.
#define TENON_F32_ISA avx2
#define TENON_VECTOR_LANES 8
#define TENON_F32_TILE kAvx2Tile
#define TENON_F32_WIDE_TILE kAvx2WideTile

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

const Routines kAvx2Routines = {
    "avx2",
    avx2::kTilePixels,
    avx2::kTileWidth,
    avx2::kWideTile,
    avx2::RunTile,
    avx2::RunDepthwise,
    avx2::RunNarrow,
    avx2::RunPixels,
    avx2::RunWinogradInput,
    avx2::RunWinogradOutput,
    avx2::RunActivate,
    avx2::RunMaxPool,
    avx2::RunAveragePool,
    avx2::RunSoftmax,
    avx2::RunLrn,
    avx2::RunLayerNorm,
    avx2::RunJoin,
    avx2::RunColumn,
    avx2::RunFewRows,
    avx2::RunGridSample,
    avx2::RunPack,
};

}  // namespace tenon::cpu::f32
