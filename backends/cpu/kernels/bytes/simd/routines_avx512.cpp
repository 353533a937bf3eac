// AVX-512 with byte dot products (VNNI).
#include "backends/cpu/kernels/bytes/simd/depthwise512.hpp"

namespace tenon::cpu::bytes {

const ByteRoutines kAvx512ByteRoutines = {
    "avx512",
    {/*vectors=*/4, /*group=*/4, /*is_byte=*/true, /*is_column=*/true, /*widest=*/64},
    avx512::RunDepthwise,
};

}  // namespace tenon::cpu::bytes
