// Makes outputs of sums one by one, with the arithmetic that all kernels share.
#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::q8 {
namespace {

float FactorOf(const GemmGroup& group, int p) {
  float factor;
  std::memcpy(&factor, &group.multiplier[p], sizeof factor);
  return factor;
}

}  // namespace

int32_t ExactOutput(const GemmGroup& group, const GemmEpilogue& epilogue, int p, int32_t sum) {
  int32_t rounded;
  if (!epilogue.fixed_point) {
    rounded = RoundHalfEven(static_cast<float>(sum) * FactorOf(group, p));
  } else if (epilogue.once) {
    rounded = FixedPointMultiplyOnce(sum, group.multiplier[p], group.shift[p]);
  } else {
    rounded = FixedPointMultiply(sum, group.multiplier[p], group.shift[p]);
  }
  const int64_t y = int64_t{rounded} + epilogue.zero_point;
  if (y < epilogue.min) return epilogue.min;
  return y > epilogue.max ? epilogue.max : static_cast<int32_t>(y);
}

void StoreFromSums(const GemmRoutines& routines, const GemmGroup& group,
                   const GemmEpilogue& epilogue, const int32_t* sums, uint8_t* y) {
  for (int p = 0; p < group.width; ++p) {
    const int m = routines.channel_at(p, group.width);
    if (m >= group.channels) continue;
    if (epilogue.kind == EpilogueKind::kSums) {
      std::memcpy(y + int64_t{m} * 4, &sums[p], sizeof(int32_t));
    } else if (epilogue.kind == EpilogueKind::kFloats) {
      const float value = static_cast<float>(sums[p]) * FactorOf(group, p);
      std::memcpy(y + int64_t{m} * 4, &value, sizeof value);
    } else {
      const auto value = static_cast<uint32_t>(ExactOutput(group, epilogue, p, sums[p]));
      y[m] = static_cast<uint8_t>(value ^ (epilogue.flip & 0xFFU));
    }
  }
}

}  // namespace tenon::cpu::q8
