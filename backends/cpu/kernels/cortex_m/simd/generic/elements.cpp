#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::cortex_m::generic {
namespace {

uint32_t OnCommonScale(int32_t value, int32_t left_shift, const QuantizedScale& scale) {
  return static_cast<uint32_t>(
      FixedPointMultiply(value * (1 << left_shift), scale.multiplier, scale.shift));
}

void AddWindow(const Window& window, int32_t* sums) {
  for (int row = 0; row < window.rows; ++row) {
    for (int column = 0; column < window.columns; ++column) {
      const int8_t* x = window.x + row * window.row_step + column * window.column_step;
      for (int i = 0; i < window.channels; ++i) {
        sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) +
                                       static_cast<uint32_t>(int32_t{x[i]}));
      }
    }
  }
}

void Largest(const Window& window, int8_t* y) {
  int8_t largest[kBlockChannels];
  for (int i = 0; i < window.channels; ++i) largest[i] = INT8_MIN;
  for (int row = 0; row < window.rows; ++row) {
    for (int column = 0; column < window.columns; ++column) {
      const int8_t* x = window.x + row * window.row_step + column * window.column_step;
      for (int i = 0; i < window.channels; ++i) largest[i] = x[i] > largest[i] ? x[i] : largest[i];
    }
  }
  for (int i = 0; i < window.channels; ++i) y[i] = largest[i];
}

void AddWindow16(const Window& window, int16_t start, const int16_t* before, int16_t* sums) {
  int32_t totals[kBlockChannels];
  for (int i = 0; i < window.channels; ++i) totals[i] = start + (before == nullptr ? 0 : before[i]);
  AddWindow(window, totals);
  for (int i = 0; i < window.channels; ++i) sums[i] = static_cast<int16_t>(totals[i]);
}

void Map(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; ++i) y[i] = table[x[i] ^ flip];
}

constexpr LookupRoutines kLookup = {Map};
constexpr BinaryRoutines kBinary = {Add};
constexpr PoolRoutines kPool = {AddWindow, Largest, AddWindow16};

}  // namespace

void Add(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y, int8_t* z,
         ptrdiff_t count) {
  const QuantizedBinaryAttributes& a = attributes;
  for (ptrdiff_t i = 0; i < count; ++i) {
    const uint32_t left = OnCommonScale(x[i] - a.x_zero_point, a.left_shift, a.x_scale);
    const uint32_t right = OnCommonScale(y[i] - a.y_zero_point, a.left_shift, a.y_scale);
    const auto sum =
        static_cast<int32_t>(a.function == BinaryFunction::kSub ? left - right : left + right);
    z[i] = static_cast<int8_t>(Saturate(
        a.output, FixedPointMultiply(sum, a.output_scale.multiplier, a.output_scale.shift)));
  }
}

const BinaryRoutines& Binary() { return kBinary; }
const PoolRoutines& Pool() { return kPool; }
const LookupRoutines& Lookup() { return kLookup; }

}  // namespace tenon::cpu::cortex_m::generic
