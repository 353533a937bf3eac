#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/fixed_point.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"

namespace tenon::cpu::portable {
namespace {

/// One line along the softmax's axis.
struct Line {
  const uint8_t* x;
  ptrdiff_t x_stride;
  uint8_t* y;
  ptrdiff_t y_stride;
  int count;
  int32_t flip;

  [[nodiscard]] int32_t At(int i) const { return ByteValue(x[i * x_stride], flip); }

  [[nodiscard]] int32_t Largest() const {
    int32_t largest = At(0);
    for (int i = 1; i < count; ++i) largest = At(i) > largest ? At(i) : largest;
    return largest;
  }
};

int LeadingZeros(uint32_t x) { return x == 0 ? 32 : __builtin_clz(x); }

/// A sum of exponentials as a factor: 1 / sum = reciprocal (Q0) * 2^-bits.
struct Reciprocal {
  int32_t factor;
  int bits;
};

/// `sum` in Q12.
Reciprocal ReciprocalOf(uint32_t sum) {
  constexpr int kSumBits = 12;
  const int headroom = LeadingZeros(sum);
  const uint32_t normal = headroom == 32 ? 0U : sum << headroom;  // in [1, 2), from 2^31 on
  const auto above_one = static_cast<int32_t>(normal - (1U << 31));
  return {fixed_point::ReciprocalOfOnePlus(above_one), kSumBits - headroom};
}

/// exp of a difference to the largest element, in Q0.
int32_t ExpOfDifference(const QuantizedSoftmaxAttributes& attributes, int32_t difference) {
  const int32_t scaled =
      FixedPointMultiply(difference, attributes.scale.multiplier, attributes.scale.shift);
  return fixed_point::ExpOfNegative(scaled);
}

/// TFLite's integer softmax (reference_ops::Softmax of 8-bit types): exponentials in Q0 of
/// differences in Q5, their sum in Q12, all rounding as there.
void FixedPointLine(const QuantizedSoftmaxAttributes& attributes, const Line& line) {
  constexpr int kSumBits = 12;
  constexpr int kResultBits = 8;
  const int32_t largest = line.Largest();
  uint32_t sum = 0;  // wraps from 4096 elements on that all are the largest, as there
  for (int i = 0; i < line.count; ++i) {
    const int32_t difference = line.At(i) - largest;
    if (difference < attributes.least_difference) continue;
    const int32_t exponential = ExpOfDifference(attributes, difference);
    sum += static_cast<uint32_t>(RoundingShiftRight(exponential, kSumBits));
  }
  const Reciprocal reciprocal = ReciprocalOf(sum);
  const int shift = reciprocal.bits + 31 - kResultBits;
  for (int i = 0; i < line.count; ++i) {
    const int32_t difference = line.At(i) - largest;
    int32_t result = 0;
    if (difference >= attributes.least_difference && shift <= 31) {
      const int32_t exponential = ExpOfDifference(attributes, difference);
      const int32_t product = RoundingDoublingHighMultiply(reciprocal.factor, exponential);
      result = RoundingShiftRight(product, shift);
    }
    line.y[i * line.y_stride] = OutputByte(attributes.output, result);
  }
}

void FloatLine(const QuantizedSoftmaxAttributes& attributes, const Line& line) {
  const float scale = attributes.scale.scale;
  const float largest = static_cast<float>(line.Largest()) * scale;
  const auto exponential = [&](int i) {
    return math::Exp(static_cast<float>(line.At(i)) * scale - largest);
  };
  float sum = 0.0F;
  for (int i = 0; i < line.count; ++i) sum += exponential(i);
  const float factor = 1.0F / sum;
  for (int i = 0; i < line.count; ++i) {
    const float result = exponential(i) * factor / attributes.output_scale;
    line.y[i * line.y_stride] = OutputByte(attributes.output, RoundHalfEven(result));
  }
}

}  // namespace

Status QuantizedSoftmaxCheck(const KernelSetup& setup) {
  return CheckResult(QuantizedSupports(setup.op));
}

Status QuantizedSoftmaxRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedSoftmaxAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const int axis = attributes.softmax.axis;
  const int count = x.dims[axis];
  const auto lines = static_cast<int>(x.Elements() / count);
  const auto run = attributes.output.rounding == Rounding::kFixedPoint ? FixedPointLine : FloatLine;
  ParallelForWork(call.parallel, lines, int64_t{16} * count, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      run(attributes,
          {x.As<const uint8_t>() + OffsetWithout(axis, i, x), x.strides[axis],
           y.As<uint8_t>() + OffsetWithout(axis, i, y), y.strides[axis], count, SignFlip(x.dtype)});
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
