// Makes outputs of sums one by one, with the arithmetic that all kernels share.
#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::q8 {
namespace {

/// Stores the first `count` of kNeighbours words.
void StoreWords(const void* words, int count, uint8_t* to) {
  if (count == kNeighbours) {
    std::memcpy(to, words, kNeighbours * sizeof(int32_t));
  } else {
    std::memcpy(to, words, static_cast<size_t>(count) * sizeof(int32_t));
  }
}

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
  for (int p = 0; p < group.width; p += kNeighbours) {
    const int m = routines.channel_at(p, group.width);
    const int left = group.channels - m;
    const int count = left < kNeighbours ? left : kNeighbours;
    if (count <= 0) continue;
    if (epilogue.kind == EpilogueKind::kSums) {
      StoreWords(sums + p, count, y + int64_t{m} * 4);
    } else if (epilogue.kind == EpilogueKind::kFloats) {
      float values[kNeighbours];
      for (int i = 0; i < kNeighbours; ++i) {
        values[i] = static_cast<float>(sums[p + i]) * FactorOf(group, p + i);
      }
      StoreWords(values, count, y + int64_t{m} * 4);
    } else {
      for (int i = 0; i < count; ++i) {
        const auto value = static_cast<uint32_t>(ExactOutput(group, epilogue, p + i, sums[p + i]));
        y[m + i] = static_cast<uint8_t>(value ^ (epilogue.flip & 0xFFU));
      }
    }
  }
}

}  // namespace tenon::cpu::q8
