// These kernels add and subtract quantized tensors of equal layout. An operand has 256 values: if
// the workspace suffices, each value's number on the common scale is computed once and then looked
// up.
#include <cstring>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = BinaryInput;

constexpr int kValues = 256;

/// By the byte. Of kHalfEven: bits of floats.
struct Tables {
  uint32_t x[kValues];
  uint32_t y[kValues];
};
static_assert(sizeof(Tables) == kBinaryTableBytes);

struct Operand {
  DType dtype;
  int32_t zero_point;
  QuantizedScale scale;
  bool negative;  ///< it is subtracted

  /// Distances from the zero point are less than 256.
  [[nodiscard]] int32_t ValueOf(uint8_t byte) const {
    return (dtype == DType::kI8 ? static_cast<int8_t>(byte) : byte) - zero_point;
  }
};

struct Operands {
  explicit Operands(const OpCall& op)
      : attributes(op.AttributesAs<QuantizedBinaryAttributes>()),
        x{op.Input(In::kX).dtype, attributes.x_zero_point, attributes.x_scale, false},
        y{op.Input(In::kY).dtype, attributes.y_zero_point, attributes.y_scale,
          attributes.function == BinaryFunction::kSub} {}

  const QuantizedBinaryAttributes& attributes;
  Operand x;
  Operand y;
};

/// Brings an operand's value to the common scale in a few instructions, for usual factors.
class FastScale {
 public:
  FastScale(const Operand& operand, int32_t left_shift)
      : zero_point_(operand.zero_point),
        left_(left_shift + 1),  // AddHighProduct wants doubled values
        multiplier_(operand.scale.multiplier),
        right_(-operand.scale.shift),
        half_(right_ > 0 ? 1 << (right_ - 1) : 0),
        signs_(right_ > 0 ? -1 : 0) {}

  /// Returns true if nothing overflows.
  static bool Takes(const Operand& operand) {
    const QuantizedScale& scale = operand.scale;
    return !operand.negative && scale.multiplier >= 0 && scale.shift <= 0 && scale.shift >= -29;
  }

  [[nodiscard, gnu::always_inline]] inline int32_t Of(int32_t value) const {
    const auto doubled = static_cast<int32_t>(static_cast<uint32_t>(value - zero_point_) << left_);
    // Halves go away from zero: down, of what is negative.
    return AddHighProduct(doubled, multiplier_, half_ + ((doubled >> 31) & signs_)) >> right_;
  }

  /// Writes the numbers of 128 values from `value` on, shifted to the left by `more`. It stands
  /// apart, so that the loop has all registers.
  [[gnu::noinline]] void Fill(int32_t value, int32_t more, uint32_t* table) const {
    const uint32_t step = 1U << left_;
    const int32_t multiplier = multiplier_;
    const int32_t right = right_;
    const int32_t half = half_;
    const int32_t signs = signs_;
    auto doubled = static_cast<uint32_t>(value - zero_point_) << left_;
    const auto next = [&]() __attribute__((always_inline)) {
      const auto signed_value = static_cast<int32_t>(doubled);
      const int32_t rounding = half + (signed_value >> 31 & signs);
      *table++ = static_cast<uint32_t>(AddHighProduct(signed_value, multiplier, rounding) >> right)
                 << more;
      doubled += step;
    };
    const uint32_t* const end = table + kValues / 2;
    while (table != end) {
      next();
      next();
      next();
      next();
    }
  }

 private:
  int32_t zero_point_;
  int32_t left_;
  int32_t multiplier_;
  int32_t right_;
  int32_t half_;
  int32_t signs_;
};

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns a byte of an operand on the common scale: a number, or for kHalfEven the bits of a
/// float.
uint32_t EntryOf(const QuantizedBinaryAttributes& attributes, const Operand& operand,
                 uint8_t byte) {
  const int32_t value = operand.ValueOf(byte);
  if (attributes.output.rounding == Rounding::kHalfEven) {
    const float scaled = static_cast<float>(value) * operand.scale.scale;
    const float entry = operand.negative ? -scaled : scaled;
    uint32_t bits;
    std::memcpy(&bits, &entry, sizeof bits);
    return bits;
  }
  const auto bits = static_cast<uint32_t>(FixedPointMultiply(
      value * (1 << attributes.left_shift), operand.scale.multiplier, operand.scale.shift));
  return operand.negative ? 0 - bits : bits;
}

/// No sum of two operands is further from 0: the ends of their ranges are, unless shifts to the
/// left may wrap.
int64_t MostOf(const Operands& operands) {
  int64_t most = 0;
  for (const Operand* operand : {&operands.x, &operands.y}) {
    if (operand->scale.shift > 0) return INT64_MAX;
    int64_t largest = 0;
    for (const int byte : {0, 0x7F, 0x80, 0xFF}) {
      const int64_t entry =
          static_cast<int32_t>(EntryOf(operands.attributes, *operand, static_cast<uint8_t>(byte)));
      const int64_t distance = entry < 0 ? -entry : entry;
      largest = distance > largest ? distance : largest;
    }
    most += largest;
  }
  return most;
}

/// Shifts entries to the left by `more`.
void FillTable(const QuantizedBinaryAttributes& attributes, const Operand& operand, int32_t more,
               uint32_t* table) {
  const bool is_fixed = attributes.output.rounding != Rounding::kHalfEven;
  if (!is_fixed || !FastScale::Takes(operand)) {
    for (int byte = 0; byte < kValues; ++byte) {
      table[byte] = EntryOf(attributes, operand, static_cast<uint8_t>(byte)) << more;
    }
    return;
  }
  const FastScale scale(operand, attributes.left_shift);
  constexpr int kHalf = kValues / 2;
  scale.Fill(0, more, table);
  scale.Fill(operand.dtype == DType::kI8 ? -kHalf : kHalf, more, table + kHalf);
}

/// Computes z = f(x, y), where f returns bytes.
template <typename Function>
void Map(const OpCall& op, const Function& function) {
  const auto* x = op.Input(In::kX).As<const uint8_t>();
  const auto* y = op.Input(In::kY).As<const uint8_t>();
  auto* z = op.Output().As<uint8_t>();
  const auto* const end = z + op.Output().Elements();
  while (z != end) *z++ = static_cast<uint8_t>(function(*x++, *y++));
}

int32_t Bounded(const QuantizedOutput& output, int32_t value) {
  // One after the other, as Saturate does.
  value = value < output.min ? output.min : value;
  return value > output.max ? output.max : value;
}

/// Returns the byte for two entries, for any content of the constants.
int32_t RequantizeEntries(const QuantizedBinaryAttributes& attributes, uint32_t a, uint32_t b) {
  const QuantizedOutput& output = attributes.output;
  const QuantizedScale& scale = attributes.output_scale;
  if (output.rounding == Rounding::kHalfEven) {
    const int32_t rounded = RoundToEven((FloatOf(a) + FloatOf(b)) / scale.scale);
    return Bounded(output, rounded + output.zero_point);
  }
  return Saturate(output,
                  FixedPointMultiply(static_cast<int32_t>(a + b), scale.multiplier, scale.shift));
}

void MapTables(const OpCall& op, const Operands& operands, bool is_fast, Tables& tables) {
  const QuantizedBinaryAttributes& attributes = operands.attributes;
  const int32_t more = is_fast ? 1 : 0;  // RequantizeDoubled takes doubled numbers
  FillTable(attributes, operands.x, more, tables.x);
  FillTable(attributes, operands.y, more, tables.y);
  if (!is_fast) {
    return Map(op, [&](uint8_t a, uint8_t b) {
      return RequantizeEntries(attributes, tables.x[a], tables.y[b]);
    });
  }
  const QuantizedOutput output = attributes.output;
  Requantizer requantizer;
  requantizer.Set(attributes.output_scale.multiplier, attributes.output_scale.shift,
                  output.zero_point);
  const auto value = [&](uint8_t a, uint8_t b) {
    return RequantizeDoubled(requantizer, static_cast<int32_t>(tables.x[a] + tables.y[b]));
  };
  if (output.min == -128 && output.max == 127) {
    return Map(op, [&](uint8_t a, uint8_t b) { return SaturateToByte(value(a, b)); });
  }
  Map(op, [&](uint8_t a, uint8_t b) { return Bounded(output, value(a, b)); });
}

/// Computes the op without tables.
void MapValues(const OpCall& op, const Operands& operands, bool is_fast) {
  const QuantizedBinaryAttributes& attributes = operands.attributes;
  const QuantizedOutput& output = attributes.output;
  const bool is_usual = operands.x.dtype == DType::kI8 && operands.y.dtype == DType::kI8 &&
                        output.min == -128 && output.max == 127 && FastScale::Takes(operands.x) &&
                        FastScale::Takes(operands.y);
  if (!is_fast || !is_usual) {
    return Map(op, [&](uint8_t a, uint8_t b) {
      return RequantizeEntries(attributes, EntryOf(attributes, operands.x, a),
                               EntryOf(attributes, operands.y, b));
    });
  }
  const FastScale x(operands.x, attributes.left_shift);
  const FastScale y(operands.y, attributes.left_shift);
  Requantizer requantizer;
  requantizer.Set(attributes.output_scale.multiplier, attributes.output_scale.shift,
                  output.zero_point);
  const auto* a = op.Input(In::kX).As<const int8_t>();
  const auto* b = op.Input(In::kY).As<const int8_t>();
  auto* z = op.Output().As<int8_t>();
  for (const auto* const end = z + op.Output().Elements(); z != end; ++z) {
    const int32_t sum = x.Of(*a++) + y.Of(*b++);
    *z = static_cast<int8_t>(SaturateToByte(RequantizeDoubled(requantizer, 2 * sum)));
  }
}

}  // namespace

Status BinaryCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = BinarySupports(op)) return Status(StatusCode::kUnsupported, reason);
  return cortex_m::CheckAlike(op, 2);
}

Status BinaryRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const Operands operands(op);
  const QuantizedBinaryAttributes& attributes = operands.attributes;
  const QuantizedScale& scale = attributes.output_scale;
  const bool is_fast = attributes.output.rounding == Rounding::kFixedPoint &&
                       IsFastRescale(scale.multiplier, scale.shift, MostOf(operands));
  if (call.workspace_bytes >= kBinaryTableBytes) {
    MapTables(op, operands, is_fast, *static_cast<Tables*>(call.workspace));
  } else {
    MapValues(op, operands, is_fast);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
