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

/// A function of bytes that is worked out once for each value: lines of classes have more elements
/// than a byte has values.
template <typename T>
class Memo {
 public:
  template <typename Function>
  T At(uint8_t byte, const Function& function) {
    if (!known_[byte]) {
      known_[byte] = true;
      values_[byte] = function(byte);
    }
    return values_[byte];
  }

 private:
  bool known_[256] = {};
  T values_[256];
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
  Memo<int32_t> exponentials;  // 0 where the difference is too large to count
  const auto exponential = [&](uint8_t byte) {
    const int32_t difference = line.ValueOf(byte) - largest;
    return difference < attributes.least_difference ? 0 : ExpOfDifference(attributes, difference);
  };
  uint32_t sum = 0;  // wraps from 4096 elements on that all are the largest, as there
  for (int i = 0; i < line.count; ++i) {
    const int32_t summand = exponentials.At(line.ByteAt(i), exponential);
    sum += static_cast<uint32_t>(RoundingShiftRight(summand, kSumBits));
  }
  const Reciprocal reciprocal = ReciprocalOf(sum);
  const int shift = reciprocal.bits + 31 - kResultBits;
  Memo<uint8_t> results;
  const auto result = [&](uint8_t byte) {
    if (shift > 31) return OutputByte(attributes.output, 0);
    const int32_t product =
        RoundingDoublingHighMultiply(reciprocal.factor, exponentials.At(byte, exponential));
    return OutputByte(attributes.output, RoundingShiftRight(product, shift));
  };
  for (int i = 0; i < line.count; ++i) {
    line.y[i * line.y_stride] = results.At(line.ByteAt(i), result);
  }
}

void FloatLine(const QuantizedSoftmaxAttributes& attributes, const Line& line) {
  const float scale = attributes.scale.scale;
  const float largest = static_cast<float>(line.Largest()) * scale;
  Memo<float> exponentials;
  const auto exponential = [&](uint8_t byte) {
    return math::Exp(static_cast<float>(line.ValueOf(byte)) * scale - largest);
  };
  float sum = 0.0F;
  for (int i = 0; i < line.count; ++i) sum += exponentials.At(line.ByteAt(i), exponential);
  const float factor = 1.0F / sum;
  Memo<uint8_t> results;
  const auto result = [&](uint8_t byte) {
    const float value = exponentials.At(byte, exponential) * factor / attributes.output_scale;
    return OutputByte(attributes.output, RoundHalfEven(value));
  };
  for (int i = 0; i < line.count; ++i) {
    line.y[i * line.y_stride] = results.At(line.ByteAt(i), result);
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
