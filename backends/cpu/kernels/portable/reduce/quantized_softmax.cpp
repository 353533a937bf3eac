#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/reduce/fixed_point.hpp"

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

  [[nodiscard]] uint8_t ByteAt(int i) const { return x[i * x_stride]; }
  [[nodiscard]] int32_t ValueOf(uint8_t byte) const { return ByteValue(byte, flip); }

  [[nodiscard]] int32_t Largest() const {
    int32_t largest = ValueOf(ByteAt(0));
    for (int i = 1; i < count; ++i) {
      const int32_t value = ValueOf(ByteAt(i));
      largest = value > largest ? value : largest;
    }
    return largest;
  }
};

/// Values of a function for the elements of a line: of each element, or of each byte where a line
/// has more elements than a byte has values. So many are worked out for any content of the line.
template <typename T>
class Values {
 public:
  template <typename Function>
  Values(const Line& line, const Function& function) : by_byte_(line.count > kBytes) {
    const int count = by_byte_ ? kBytes : line.count;
    for (int i = 0; i < count; ++i) {
      values_[i] = function(by_byte_ ? static_cast<uint8_t>(i) : line.ByteAt(i));
    }
  }

  [[nodiscard]] T At(const Line& line, int i) const {
    return values_[by_byte_ ? line.ByteAt(i) : i];
  }

 private:
  static constexpr int kBytes = 256;
  bool by_byte_;
  T values_[kBytes];
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
  // 0 where the difference is too large to count. Bytes above the largest are not in the line.
  const Values<int32_t> exponentials(line, [&](uint8_t byte) {
    int32_t difference = line.ValueOf(byte) - largest;
    difference = difference > 0 ? 0 : difference;
    const int32_t exponential = ExpOfDifference(attributes, difference);
    return difference < attributes.least_difference ? 0 : exponential;
  });
  uint32_t sum = 0;  // wraps from 4096 elements on that all are the largest, as there
  for (int i = 0; i < line.count; ++i) {
    sum += static_cast<uint32_t>(RoundingShiftRight(exponentials.At(line, i), kSumBits));
  }
  const Reciprocal reciprocal = ReciprocalOf(sum);
  const int shift = reciprocal.bits + 31 - kResultBits;
  const bool is_none = shift > 31;
  for (int i = 0; i < line.count; ++i) {
    const int32_t gemm = RoundingDoublingHighMultiply(reciprocal.factor, exponentials.At(line, i));
    const int32_t result = RoundingShiftRight(gemm, is_none ? 31 : shift);
    line.y[i * line.y_stride] = OutputByte(attributes.output, is_none ? 0 : result);
  }
}

void FloatLine(const QuantizedSoftmaxAttributes& attributes, const Line& line) {
  const float scale = attributes.scale.scale;
  const int32_t most = line.Largest();
  const float largest = static_cast<float>(most) * scale;
  const Values<float> exponentials(line, [&](uint8_t byte) {
    const int32_t value = line.ValueOf(byte);
    return math::Exp(static_cast<float>(value > most ? most : value) * scale - largest);
  });
  float sum = 0.0F;
  for (int i = 0; i < line.count; ++i) sum += exponentials.At(line, i);
  const float factor = 1.0F / sum;
  for (int i = 0; i < line.count; ++i) {
    const float value = exponentials.At(line, i) * factor / attributes.output_scale;
    line.y[i * line.y_stride] = OutputByte(attributes.output, RoundHalfEven(value));
  }
}

}  // namespace

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
