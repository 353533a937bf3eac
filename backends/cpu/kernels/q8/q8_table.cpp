#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/caps/quantized_product_caps.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"
#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"

namespace tenon::cpu {

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/q8.inc"
#undef TENON_KERNEL

}  // namespace tenon::cpu
