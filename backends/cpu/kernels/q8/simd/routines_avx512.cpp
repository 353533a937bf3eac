// These routines use AVX-512 with byte dot products (VNNI).
#define TENON_Q8_ISA avx512
#define TENON_BYTES_WIDTH 64

#include "backends/cpu/kernels/q8/simd/depthwise512.hpp"
#include "backends/cpu/kernels/q8/simd/dynamic.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise512.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"
#include "backends/cpu/kernels/q8/simd/softmax.hpp"

namespace tenon::cpu::q8 {

const ByteRoutines kAvx512ByteRoutines = {
    "avx512",
    {/*vectors=*/4, /*group=*/4, /*is_byte=*/true, /*is_column=*/true, /*widest=*/64,
     /*pairs_rows=*/false,
     /*overlaps=*/false},
    avx512::RunDepthwise,
    /*depthwise_window=*/nullptr,
    avx512::RunLookup,
    avx512::RunBinary512,
    avx512::RunQuantize512,
    avx512::RunDequantize,
    avx512::RunQuantizeWords,
    avx512::RunDequantizeWords,
    avx512::RunLayerNorm,
    avx512::RunSoftmax,
    avx512::RunMaxPool,
    avx512::RunSumPool,
    avx512::RunInterleave3,
    avx512::RunRange,
    avx512::RunScaleSums,
};

const ByteRoutines kAvx512VbmiByteRoutines = {
    "avx512",
    {/*vectors=*/4, /*group=*/4, /*is_byte=*/true, /*is_column=*/true, /*widest=*/64,
     /*pairs_rows=*/false,
     /*overlaps=*/false},
    avx512::RunDepthwise,
    /*depthwise_window=*/nullptr,
    LookupByPermutation,
    BinaryByPermutation,
    avx512::RunQuantize512,
    avx512::RunDequantize,
    avx512::RunQuantizeWords,
    avx512::RunDequantizeWords,
    avx512::RunLayerNorm,
    avx512::RunSoftmax,
    avx512::RunMaxPool,
    avx512::RunSumPool,
    InterleaveByPermutation,
    avx512::RunRange,
    avx512::RunScaleSums,
};

}  // namespace tenon::cpu::q8
