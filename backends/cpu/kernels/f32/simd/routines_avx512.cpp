// AVX-512 has 32 registers of 16 floats.
#define TENON_F32_ISA avx512
#define TENON_VECTOR_LANES 16
#define TENON_F32_TILE kAvx512Tile

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

const Routines kAvx512Routines = {
    "avx512",
    avx512::kTilePixels,
    avx512::kTileWidth,
    avx512::kWideTile,
    avx512::RunTile,
    avx512::RunDepthwise,
    avx512::RunNarrow,
    avx512::RunPixels,
    avx512::RunWinogradInput,
    avx512::RunWinogradOutput,
    avx512::RunActivate,
    avx512::RunMaxPool,
    avx512::RunAveragePool,
    avx512::RunSoftmax,
    avx512::RunLrn,
    avx512::RunLayerNorm,
    avx512::RunJoin,
    avx512::RunColumn,
    avx512::RunFewRows,
    avx512::RunGridSample,
    avx512::RunPack,
};

}  // namespace tenon::cpu::f32
