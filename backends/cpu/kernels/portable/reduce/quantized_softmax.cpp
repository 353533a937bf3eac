#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/reduce/fixed_point_softmax.hpp"

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

void FixedPointLine(const QuantizedSoftmaxAttributes& attributes, const Line& line) {
  const int32_t largest = line.Largest();
  // Bytes above the largest are not in the line.
  const Values<int32_t> exponentials(line, [&](uint8_t byte) {
    const int32_t difference = line.ValueOf(byte) - largest;
    return fixed_point::ExpOfDifference(attributes, difference > 0 ? 0 : difference);
  });
  uint32_t sum = 0;
  for (int i = 0; i < line.count; ++i) {
    sum += static_cast<uint32_t>(fixed_point::Summand(exponentials.At(line, i)));
  }
  const fixed_point::Share share = fixed_point::ShareOf(sum);
  for (int i = 0; i < line.count; ++i) {
    line.y[i * line.y_stride] = OutputByte(attributes.output, share.Of(exponentials.At(line, i)));
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
