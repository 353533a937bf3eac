// Computes a quantized GEMM with one constant matrix, each of whose columns is contiguous. Each row
// of a is widened and multiplied by two columns at a time, which are unpacked as they are read.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

constexpr unsigned kStep = 4;  // elements of a step
constexpr unsigned kWideStep = 8;

/// Returns sum + the products of four halves with the bytes of a word.
uint32_t AddProductsOfWord(const int16_t* x, uint32_t word, uint32_t sum) {
  sum = AddProducts(LoadWord(x), AddEvenBytes(0, word), sum);
  return AddProducts(LoadWord(x + 2), AddOddBytes(0, word), sum);
}

#if TENON_DSP_INSTRUCTIONS

// Eight inputs, r4 to r7, times eight weights of a column. r8, r9: weights; r10: half of them.
#define TENON_EIGHT(column, sum) \
  "ldrd r8, r9, [" column        \
  "], #8\n"                      \
  "sxtb16 r10, r8\n"             \
  "sxtb16 r8, r8, ror #8\n"      \
  "smlad " sum ", r4, r10, " sum \
  "\n"                           \
  "smlad " sum ", r5, r8, " sum  \
  "\n"                           \
  "sxtb16 r10, r9\n"             \
  "sxtb16 r9, r9, ror #8\n"      \
  "smlad " sum ", r6, r10, " sum \
  "\n"                           \
  "smlad " sum ", r7, r9, " sum "\n"

// 19 instructions for 16 products. r0 inputs, r1, r2 columns, r12, lr sums.
#define TENON_TWO_STEP "ldmia r0!, {r4-r7}\n" TENON_EIGHT("r1", "r12") TENON_EIGHT("r2", "lr")

/// Returns the sums of the products of `steps` * 8 halves, `steps` > 0, with the column of i8 at
/// `column` in the low word and with the one `next` bytes behind it in the high word. All must be
/// at multiples of 4 bytes. A round (r3 of them) is two steps; the first one is entered in its
/// middle, where the number of steps is odd.
__attribute__((naked)) uint64_t MultiplyTwo(const int16_t*, const uint8_t*, size_t, unsigned) {
  __asm__ volatile(
      "push {r4-r10, lr}\n"
      "add r2, r1\n"
      "mov r12, #0\n"
      "mov lr, #0\n"
      "adds r3, #1\n"
      "lsrs r3, #1\n"
      "bcc 2f\n"
      "1:\n" TENON_TWO_STEP "2:\n" TENON_TWO_STEP
      "subs r3, #1\n"
      "bne.w 1b\n"
      "mov r0, r12\n"
      "mov r1, lr\n"
      "pop {r4-r10, pc}\n");
}

#undef TENON_TWO_STEP
#undef TENON_EIGHT

#else

/// Returns the sums of the products of `steps` * 8 halves with a column of i8, and with the one
/// `next` bytes behind it in the high word.
uint64_t MultiplyTwo(const int16_t* x, const uint8_t* column, size_t next, unsigned steps) {
  uint32_t sums[2] = {0, 0};
  for (int i = 0; i < 2; ++i, column += next) {
    for (unsigned j = 0; j < steps * kWideStep; j += kStep) {
      sums[i] = AddProductsOfWord(x + j, LoadWord(column + j), sums[i]);
    }
  }
  return uint64_t{sums[1]} << 32 | sums[0];
}

#endif

/// Rounds once (kFixedPointOnce) where that takes three instructions: the high word of the product
/// with what rounds and the zero point, shifted, within the range of i8.
struct RoundOnce {
  int32_t multiplier;
  int32_t offset;  ///< half of 2^right, and 2^right zero points
  int32_t right;

  /// Returns true if that gives the bytes of the first `count` outputs, whatever their sums.
  static bool Suits(const Rescale& rescale, int32_t count) {
    const QuantizedOutput& output = rescale.output;
    if (output.rounding != Rounding::kFixedPointOnce || output.min != -128 || output.max != 127) {
      return false;
    }
    // Without its low word a product has 30 bits, and the offset, of a zero point that is a byte,
    // has 28: nothing overflows.
    for (int32_t i = 0; i < (rescale.step == 0 ? 1 : count); ++i) {
      if (rescale.shift[i] > -2 || rescale.shift[i] < -21) return false;
    }
    return true;
  }
  [[gnu::noinline]] void Set(const Rescale& rescale, int32_t index) {
    multiplier = rescale.multiplier[index * rescale.step];
    right = -1 - rescale.shift[index * rescale.step];
    offset = (2 * rescale.output.zero_point + 1) * (1 << (right - 1));
  }
  [[nodiscard]] uint8_t Byte(uint32_t sum) const {
    const int32_t value = AddHighWord(static_cast<int32_t>(sum), multiplier, offset);
    return static_cast<uint8_t>(SaturateToByte(value >> right));
  }
};

/// Is a row of a.
struct Row {
  const uint8_t* bytes;
  const int16_t* halves;  ///< of all whole words, less the zero point, in the order of unpacking
  uint32_t sum;           ///< less zero points, where weights have some
};

class Gemm {
 public:
  explicit Gemm(const OpCall& op)
      : depth_(static_cast<unsigned>(op.Input(In::kX).dims[op.Input(In::kX).rank - 1])),
        count_(op.Output().dims[op.Output().rank - 1]),
        weights_(op.Input(In::kWeights).As<const uint8_t>()),
        widening_(WideningOfX(op, false)),
        rescale_(RescaleOf(op, op.AttributesAs<QuantizedMatMulAttributes>().output, depth_)) {
    const bool is_aligned = ((depth_ | reinterpret_cast<uintptr_t>(weights_)) % kStep) == 0;
    if (is_aligned) steps_ = depth_ / kWideStep;
    if (op.HasInput(In::kWeightsZeroPoint)) {
      zero_points_ = op.Input(In::kWeightsZeroPoint).As<const int8_t>();
      zero_point_step_ = op.Input(In::kWeightsZeroPoint).dims[0] > 1 ? 1 : 0;
    }
    is_simple_ = steps_ > 0 && steps_ * kWideStep == depth_ && zero_points_ == nullptr &&
                 rescale_.bias != nullptr && RoundOnce::Suits(rescale_, count_);
  }

  void RunRow(const uint8_t* a, int16_t* halves, uint8_t* y) const {
    Widen(widening_, a, static_cast<int>(depth_ / kStep), halves, kStep);
    Row row = {a, halves, 0};
    for (unsigned i = 0; zero_points_ != nullptr && i < depth_; ++i) {
      row.sum += static_cast<uint32_t>(Widened(widening_, a[i]));
    }
    for (int first = is_simple_ ? RunPairs(halves, y) : 0; first < count_; first += 2) {
      // Behind the last column there may be nothing: it stands for the next one too.
      const size_t next = first + 1 < count_ ? depth_ : 0;
      uint64_t sums = steps_ == 0 ? 0 : MultiplyTwo(halves, ColumnAt(first), next, steps_);
      for (int i = first; i < count_ && i < first + 2; ++i, sums >>= 32) {
        const uint32_t sum = static_cast<uint32_t>(sums) + Rest(row, i);
        y[i] = RequantizeOne(rescale_, i, static_cast<int32_t>(sum));
      }
    }
  }

 private:
  [[nodiscard]] const uint8_t* ColumnAt(int index) const {
    return weights_ + static_cast<size_t>(index) * depth_;
  }

  /// Computes all whole pairs of columns where `is_simple_`; returns the number of columns.
  [[gnu::noinline]] int RunPairs(const int16_t* halves, uint8_t* y) const {
    const int32_t* bias = rescale_.bias;
    const int end = count_ / 2 * 2;
    RoundOnce rounding;
    rounding.Set(rescale_, 0);
    for (int first = 0; first < end; first += 2, bias += 2) {
      const uint64_t sums = MultiplyTwo(halves, ColumnAt(first), depth_, steps_);
      if (rescale_.step != 0) rounding.Set(rescale_, first);
      y[first] = rounding.Byte(static_cast<uint32_t>(sums) + static_cast<uint32_t>(bias[0]));
      if (rescale_.step != 0) rounding.Set(rescale_, first + 1);
      y[first + 1] =
          rounding.Byte(static_cast<uint32_t>(sums >> 32) + static_cast<uint32_t>(bias[1]));
    }
    return end;
  }

  /// Returns what a column's sum lacks: its bias, the products behind the wide steps, and its zero
  /// point.
  [[gnu::noinline, nodiscard]] uint32_t Rest(const Row& row, int index) const {
    uint32_t sum = rescale_.bias == nullptr ? 0 : static_cast<uint32_t>(rescale_.bias[index]);
    const uint8_t* const column = ColumnAt(index);
    unsigned i = steps_ * kWideStep;
    for (; i + kStep <= depth_; i += kStep) {
      sum = AddProductsOfWord(row.halves + i, LoadWord(column + i), sum);
    }
    for (; i < depth_; ++i) {
      sum +=
          static_cast<uint32_t>(Widened(widening_, row.bytes[i]) * static_cast<int8_t>(column[i]));
    }
    if (zero_points_ == nullptr) return sum;
    return sum - row.sum * static_cast<uint32_t>(zero_points_[index * zero_point_step_]);
  }

  unsigned depth_;
  int count_;
  const uint8_t* weights_;
  Widening widening_;
  Rescale rescale_;
  const int8_t* zero_points_ = nullptr;  ///< of the weights; null: 0
  ptrdiff_t zero_point_step_ = 0;
  unsigned steps_ = 0;      ///< wide ones; 0 where columns do not begin at words
  bool is_simple_ = false;  ///< sums of these steps lack a bias alone; RoundOnce gives the bytes
};

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = MatMulSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(
      cortex_m::CheckOperands(op, setup.workspace_bytes, MatMulWorkspaceBytes(op, 1)));
  return cortex_m::CheckMatrices(op);
}

Status MatMulRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const TensorView& a = op.Input(In::kX);
  const TensorView& y = op.Output();
  if (cortex_m::IsEmpty(y)) return OkStatus();
  const Gemm gemm(op);
  const auto* from = a.As<const uint8_t>();
  auto* to = y.As<uint8_t>();
  const uint8_t* const end = to + y.Elements();
  for (; to != end; from += a.dims[a.rank - 1], to += y.dims[y.rank - 1]) {
    gemm.RunRow(from, static_cast<int16_t*>(call.workspace), to);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
