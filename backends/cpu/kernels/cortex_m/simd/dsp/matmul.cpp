// Computes a quantized GEMM with one constant matrix, each of whose columns is contiguous. Each row
// of a is widened and multiplied by four columns at a time, which are unpacked as they are read.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

constexpr int kColumns = 4;
constexpr int kStep = 4;  // elements of a step

#if TENON_DSP_INSTRUCTIONS

// A column (a pointer to its next four bytes) times the inputs in r4 and r5. r6, r7: weights.
#define TENON_COLUMN(column, sum) \
  "ldr r7, [" column              \
  "], #4\n"                       \
  "sxtb16 r6, r7\n"               \
  "sxtb16 r7, r7, ror #8\n"       \
  "smlad " sum ", r4, r6, " sum   \
  "\n"                            \
  "smlad " sum ", r5, r7, " sum "\n"

/// Adds to each sum the products of `words` * 4 halves, `words` > 0, with a column of i8. All
/// registers are in use: r0 inputs, r1 words, r2, r3, r8, r9 columns, r10-r12, lr sums.
__attribute__((naked)) void AddColumns(const int16_t*, int, const uint8_t* const*, uint32_t*) {
  __asm__ volatile(
      "push {r3-r11, lr}\n"
      "ldm r3, {r10-r12, lr}\n"
      "ldm r2, {r2, r3, r8, r9}\n"
      "1:\n"
      "ldrd r4, r5, [r0], #8\n"
      TENON_COLUMN("r2", "r10")
      TENON_COLUMN("r3", "r11")
      TENON_COLUMN("r8", "r12")
      TENON_COLUMN("r9", "lr")
      "subs r1, #1\n"
      "bne 1b\n"
      "ldr r3, [sp]\n"
      "stm r3, {r10-r12, lr}\n"
      "pop {r3-r11, pc}\n");
}

#undef TENON_COLUMN

#else

/// Adds to each sum the products of `words` * 4 halves with a column of i8.
void AddColumns(const int16_t* x, int words, const uint8_t* const* columns, uint32_t* sums) {
  for (int i = 0; i < kColumns; ++i) {
    for (int j = 0; j < words; ++j) {
      const uint32_t word = LoadWord(columns[i] + j * kStep);
      sums[i] = AddProducts(LoadWord(x + j * kStep), AddEvenBytes(0, word), sums[i]);
      sums[i] = AddProducts(LoadWord(x + j * kStep + 2), AddOddBytes(0, word), sums[i]);
    }
  }
}

#endif

/// Is a row of a, less its zero point.
struct Row {
  const int16_t* halves;  ///< of all words, in the order of unpacking
  int16_t rest[kStep];    ///< of the bytes behind them
  uint32_t sum;
};

class Gemm {
 public:
  explicit Gemm(const OpCall& op)
      : depth_(op.Input(In::kX).dims[op.Input(In::kX).rank - 1]),
        count_(op.Output().dims[op.Output().rank - 1]),
        weights_(op.Input(In::kWeights).As<const uint8_t>()),
        widening_(WideningOfX(op, false)),
        rescale_(RescaleOf(op, op.AttributesAs<QuantizedMatMulAttributes>().output, depth_)) {
    if (!op.HasInput(In::kWeightsZeroPoint)) return;
    zero_points_ = op.Input(In::kWeightsZeroPoint).As<const int8_t>();
    zero_point_step_ = op.Input(In::kWeightsZeroPoint).dims[0] > 1 ? 1 : 0;
  }

  void RunRow(const uint8_t* a, int16_t* halves, uint8_t* y) const {
    const int words = depth_ / kStep;
    Row row = {halves, {}, 0};
    Widen(widening_, a, words, halves, kStep);
    for (int i = 0; i < depth_ % kStep; ++i) {
      row.rest[i] = Widened(widening_, a[words * kStep + i]);
    }
    if (zero_points_ != nullptr) {
      for (int i = 0; i < words * kStep; ++i) row.sum += static_cast<uint32_t>(halves[i]);
      for (const int16_t half : row.rest) row.sum += static_cast<uint32_t>(half);
    }
    for (int first = 0; first < count_; first += kColumns) {
      const int count = count_ - first < kColumns ? count_ - first : kColumns;
      RunColumns(row, first, count, y + first);
    }
  }

 private:
  void RunColumns(const Row& row, int first, int count, uint8_t* y) const {
    const uint8_t* columns[kColumns];
    uint32_t sums[kColumns];
    for (int i = 0; i < kColumns; ++i) {
      const int column = first + (i < count ? i : count - 1);
      columns[i] = weights_ + ptrdiff_t{column} * depth_;
      sums[i] = rescale_.bias == nullptr ? 0 : static_cast<uint32_t>(rescale_.bias[column]);
    }
    const int words = depth_ / kStep;
    if (words > 0) AddColumns(row.halves, words, columns, sums);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < depth_ % kStep; ++j) {
        const auto weight = static_cast<int8_t>(columns[i][words * kStep + j]);
        sums[i] += static_cast<uint32_t>(row.rest[j] * weight);
      }
      if (zero_points_ != nullptr) {
        const int32_t zero_point = zero_points_[(first + i) * zero_point_step_];
        sums[i] -= row.sum * static_cast<uint32_t>(zero_point);
      }
      y[i] = RequantizeOne(rescale_, first + i, static_cast<int32_t>(sums[i]));
    }
  }

  int depth_;
  int count_;
  const uint8_t* weights_;
  Widening widening_;
  Rescale rescale_;
  const int8_t* zero_points_ = nullptr;  ///< of the weights; null: 0
  ptrdiff_t zero_point_step_ = 0;
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
  const int64_t elements = y.Elements();
  if (elements == 0) return OkStatus();
  const Gemm gemm(op);
  const int64_t rows = elements / y.dims[y.rank - 1];
  for (int64_t row = 0; row < rows; ++row) {
    gemm.RunRow(a.As<const uint8_t>() + row * a.dims[a.rank - 1],
                static_cast<int16_t*>(call.workspace), y.As<uint8_t>() + row * y.dims[y.rank - 1]);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
