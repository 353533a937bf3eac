// From sums to outputs one by one, with the arithmetic that all kernels share.
#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::q8 {
namespace {

float FactorOf(const ProductGroup& group, int p) {
  float factor;
  std::memcpy(&factor, &group.multiplier[p], sizeof factor);
  return factor;
}

}  // namespace

int32_t ExactOutput(const ProductGroup& group, const ProductFinish& finish, int p, int32_t sum) {
  int32_t rounded;
  if (!finish.fixed_point) {
    rounded = RoundHalfEven(static_cast<float>(sum) * FactorOf(group, p));
  } else if (finish.once) {
    rounded = FixedPointMultiplyOnce(sum, group.multiplier[p], group.shift[p]);
  } else {
    rounded = FixedPointMultiply(sum, group.multiplier[p], group.shift[p]);
  }
  const int64_t y = int64_t{rounded} + finish.zero_point;
  if (y < finish.min) return finish.min;
  return y > finish.max ? finish.max : static_cast<int32_t>(y);
}

void StoreFromSums(const ProductRoutines& routines, const ProductGroup& group,
                   const ProductFinish& finish, const int32_t* sums, uint8_t* y) {
  for (int p = 0; p < group.width; ++p) {
    const int m = routines.channel_at(p, group.width);
    if (m >= group.channels) continue;
    if (finish.kind == FinishKind::kSums) {
      std::memcpy(y + int64_t{m} * 4, &sums[p], sizeof(int32_t));
    } else if (finish.kind == FinishKind::kFloats) {
      const float value = static_cast<float>(sums[p]) * FactorOf(group, p);
      std::memcpy(y + int64_t{m} * 4, &value, sizeof value);
    } else {
      y[m] = static_cast<uint8_t>(ExactOutput(group, finish, p, sums[p]) ^ (finish.flip & 0xFF));
    }
  }
}

}  // namespace tenon::cpu::q8
