#include "backends/cpu/caps/vector_caps.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/packed_weights.hpp"

namespace tenon::cpu {

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/f32.inc"
#undef TENON_KERNEL

}  // namespace tenon::cpu
