#include "runtime/ops/requantize.hpp"

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m {
namespace {

int32_t Rounded(const Rescale& rescale, int32_t raw, ptrdiff_t output) {
  const auto sum = static_cast<int32_t>(static_cast<uint32_t>(raw) +
                                        static_cast<uint32_t>(rescale.bias[output]));
  const ptrdiff_t at = output * rescale.step;
  switch (rescale.output.rounding) {
    case Rounding::kFixedPoint:
      return FixedPointMultiply(sum, rescale.multiplier[at], rescale.shift[at]);
    case Rounding::kFixedPointOnce:
      return FixedPointMultiplyOnce(sum, rescale.multiplier[at], rescale.shift[at]);
    default:
      return RoundHalfEven(static_cast<float>(sum) * rescale.scale[at]);
  }
}

}  // namespace

void RequantizeOneByOne(const Rescale& rescale, const SumBlock& block) {
  const int32_t* sums = block.sums;
  int8_t* y = block.y;
  for (int pixel = 0; pixel < block.pixels; ++pixel) {
    for (int i = 0; i < block.outputs; ++i) {
      y[i] =
          static_cast<int8_t>(Saturate(rescale.output, Rounded(rescale, sums[i], block.first + i)));
    }
    sums += block.sum_pixel;
    y += block.y_pixel;
  }
}

}  // namespace tenon::cpu::cortex_m
