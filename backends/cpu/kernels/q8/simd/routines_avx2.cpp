// The AVX2 routines multiply 16-bit pairs, 16 channels at a time.
#define TENON_Q8_ISA avx2
#define TENON_BYTES_WIDTH 32

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/depthwise_avx2.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"

namespace tenon::cpu::q8 {
const ByteRoutines kAvx2ByteRoutines = {
    "avx2",
    {/*vectors=*/2, /*group=*/2, /*is_byte=*/false, /*is_column=*/false, /*widest=*/16,
     /*pairs_rows=*/true, /*overlaps=*/true},
    avx2::RunDepthwise,
    avx2::RunDepthwiseWindow,
    avx2::RunLookup,
    avx2::RunBinary,
    avx2::RunQuantize,
    avx2::RunDequantize,
    avx2::RunLayerNorm,
    avx2::RunMaxPool,
    avx2::RunSumPool,
    avx2::RunInterleave3,
};

}  // namespace tenon::cpu::q8
