// Sums and differences of quantized tensors that lie alike. An operand has 256 values: what each is
// on the common scale is computed once and looked up.
#include <cstring>

#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/finish.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::dsp {
namespace {

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
};

/// Gives the largest distance of an entry from 0 (of fixed point).
int64_t FillTable(const QuantizedBinaryAttributes& attributes, const Operand& operand,
                  uint32_t* table) {
  int64_t most = 0;
  const int32_t flip = operand.dtype == DType::kI8 ? 0x80 : 0;
  for (int byte = 0; byte < kValues; ++byte) {
    const int32_t value = (byte ^ flip) - flip - operand.zero_point;
    if (attributes.output.rounding == Rounding::kHalfEven) {
      const float scaled = static_cast<float>(value) * operand.scale.scale;
      const float entry = operand.negative ? -scaled : scaled;
      std::memcpy(table + byte, &entry, sizeof entry);
      continue;
    }
    const int32_t scaled = FixedPointMultiply(value * (1 << attributes.left_shift),
                                              operand.scale.multiplier, operand.scale.shift);
    const auto bits = static_cast<uint32_t>(scaled);
    table[byte] = operand.negative ? 0 - bits : bits;
    const int64_t distance = scaled < 0 ? -int64_t{scaled} : scaled;
    most = distance > most ? distance : most;
  }
  return most;
}

/// z = f(the sum of the operands' entries), f giving bytes.
template <typename Function>
void Map(const OpCall& op, const Tables& tables, const Function& function) {
  const auto* x = op.Input(0).As<const uint8_t>();
  const auto* y = op.Input(1).As<const uint8_t>();
  auto* z = op.Output().As<uint8_t>();
  const auto* const end = z + op.Output().Elements();
  while (z != end) *z++ = static_cast<uint8_t>(function(tables.x[*x++], tables.y[*y++]));
}

int32_t Bounded(const QuantizedOutput& output, int32_t value) {
  return value < output.min ? output.min : (value > output.max ? output.max : value);
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void MapFixedPoint(const OpCall& op, int64_t most, Tables& tables) {
  const auto& attributes = op.AttributesAs<QuantizedBinaryAttributes>();
  const QuantizedOutput output = attributes.output;
  const QuantizedScale scale = attributes.output_scale;
  const auto sum = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a + b); };
  if (!IsFastRescale(scale.multiplier, scale.shift, most)) {
    return Map(op, tables, [&](uint32_t a, uint32_t b) {
      return Saturate(output, FixedPointMultiply(sum(a, b), scale.multiplier, scale.shift));
    });
  }
  for (int i = 0; i < kValues; ++i) {
    tables.x[i] *= 2;
    tables.y[i] *= 2;
  }
  Finish finish;
  finish.Set(scale.multiplier, scale.shift, output.zero_point);
  if (output.min == -128 && output.max == 127) {
    return Map(op, tables, [&](uint32_t a, uint32_t b) {
      return SaturateToByte(FinishDoubled(finish, sum(a, b)));
    });
  }
  Map(op, tables,
      [&](uint32_t a, uint32_t b) { return Bounded(output, FinishDoubled(finish, sum(a, b))); });
}

}  // namespace

Status BinaryCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = BinaryTakes(op)) return Status(StatusCode::kUnsupported, reason);
  bool row_major = true;
  bool channels_last = true;
  for (const TensorView* view : {&op.Input(0), &op.Input(1), &op.Output()}) {
    row_major = row_major && view->IsRowMajor();
    channels_last = channels_last && view->IsChannelsLast();
  }
  TENON_ENSURE(row_major || channels_last, kUnsupported,
               "the DSP kernel adds tensors that lie alike, without gaps");
  TENON_ENSURE(setup.workspace_bytes >= kBinaryTableBytes, kUnsupported,
               "the kernel needs {0} bytes of workspace", int64_t{kBinaryTableBytes});
  return OkStatus();
}

Status BinaryRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const auto& attributes = op.AttributesAs<QuantizedBinaryAttributes>();
  auto& tables = *static_cast<Tables*>(call.workspace);
  const bool subtract = attributes.function == BinaryFunction::kSub;
  const int64_t most =
      FillTable(attributes, {op.Input(0).dtype, attributes.x_zero_point, attributes.x_scale, false},
                tables.x) +
      FillTable(attributes,
                {op.Input(1).dtype, attributes.y_zero_point, attributes.y_scale, subtract},
                tables.y);
  if (attributes.output.rounding == Rounding::kFixedPoint) {
    MapFixedPoint(op, most, tables);
    return OkStatus();
  }
  const QuantizedOutput output = attributes.output;
  const float scale = attributes.output_scale.scale;
  Map(op, tables, [&](uint32_t a, uint32_t b) {
    const int32_t rounded = RoundToEven((FloatOf(a) + FloatOf(b)) / scale);
    return Bounded(output, rounded + output.zero_point);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
