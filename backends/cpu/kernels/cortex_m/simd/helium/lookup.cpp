#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr ptrdiff_t kLanes = 16;

void Map(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, ptrdiff_t count) {
  const uint8x16_t flips = vdupq_n_u8(flip);
  for (; count > 0; count -= kLanes, x += kLanes, y += kLanes) {
    const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(count));
    const uint8x16_t at = veorq_u8(vldrbq_z_u8(x, lanes), flips);
    vstrbq_p_u8(y, vldrbq_gather_offset_z_u8(table, at, lanes), lanes);
  }
}

constexpr LookupRoutines kLookup = {Map};

}  // namespace

const LookupRoutines& Lookup() { return kLookup; }

}  // namespace tenon::cpu::cortex_m::helium
