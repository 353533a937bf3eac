// Computes quantized convolutions of three rows of taps, two rows of outputs at a time, with two
// thirds of the products (winograd.hpp).
//
// In each pass (caps: WinogradPass) the sums of rows of x are made once for all outputs; those of
// the weights once a pass, two outputs at a time. Pixels are paired with those half a row away, so
// that all that a pair reads of a sum of rows lies side by side.
#include "backends/cpu/kernels/cortex_m/simd/dsp/winograd.hpp"

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/outputs.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kStep = 4;        // elements of a step
constexpr int kTileRows = 2;    // of y
constexpr int kTileInputs = 4;  // rows of x

/// Writes the sums of rows of `words` words of x, each to its plane. `less` as in Widening. It
/// stands apart, so that the loop has all registers.
[[gnu::noinline]] void SumInputs(const uint8_t* const* rows, uint32_t less, int words, int16_t* to,
                                 ptrdiff_t plane) {
  const uint8_t* first = rows[0];
  const uint8_t* second = rows[1];
  const uint8_t* third = rows[2];
  const uint8_t* fourth = rows[3];
  for (const uint8_t* const end = first + ptrdiff_t{words} * kStep; first != end; first += kStep) {
    const uint32_t b = LoadWord(second);
    const uint32_t c = LoadWord(third);
    const uint32_t b_even = AddEvenBytes(less, b);
    const uint32_t b_odd = AddOddBytes(less, b);
    const uint32_t c_even = AddEvenBytes(less, c);
    const uint32_t c_odd = AddOddBytes(less, c);
    StoreTwoWords(to, SumOfHalves(b_even, c_even), SumOfHalves(b_odd, c_odd));
    int16_t* place = to + plane;
    StoreTwoWords(place, DifferenceOfHalves(c_even, b_even), DifferenceOfHalves(c_odd, b_odd));
    const uint32_t a = LoadWord(first);
    place += plane;
    StoreTwoWords(place, DifferenceOfHalves(AddEvenBytes(less, a), c_even),
                  DifferenceOfHalves(AddOddBytes(less, a), c_odd));
    const uint32_t d = LoadWord(fourth);
    place += plane;
    StoreTwoWords(place, DifferenceOfHalves(AddEvenBytes(less, d), b_even),
                  DifferenceOfHalves(AddOddBytes(less, d), b_odd));
    second += kStep;
    third += kStep;
    fourth += kStep;
    to += 2 * kStep;
  }
}

/// Makes the factors those of twice the sums; returns false if that is not exact.
bool DoublesFloats(const Rescale& rescale, int count) {
  constexpr int64_t kBound = int64_t{1} << 30;
  for (int i = 0; i < count; ++i) {
    const int64_t bias = rescale.bias == nullptr ? 0 : rescale.bias[i];
    if ((bias < 0 ? -bias : bias) + rescale.most >= kBound) return false;
    uint32_t bits;
    std::memcpy(&bits, rescale.scale + i * rescale.step, sizeof bits);
    const uint32_t exponent = bits >> 23 & 0xFF;
    if (exponent < 2 || exponent == 0xFF) return false;  // half of it is no normal number
  }
  return true;
}

/// Returns true if twice the sums give the same bytes, for all outputs.
bool TakesOutputs(const Outputs& outputs) {
  if (!outputs.IsSimple()) return false;
  return outputs.kind != RequantizeKind::kFloat || DoublesFloats(outputs.rescale, outputs.count);
}

class Winograd {
 public:
  Winograd(const OpCall& op, const WinogradPass& pass, const Outputs& outputs, void* workspace)
      : g_(GeometryOf(op)), pass_(pass), outputs_(outputs), less_(WideningOfX(op, false).less) {
    x_ = static_cast<int16_t*>(workspace);
    w_ = x_ + pass.x_bytes / sizeof(int16_t);
    padding_ = reinterpret_cast<uint8_t*>(w_) + pass.w_bytes;
    for (int i = 0; i < g_.channels; i += kStep) {
      StoreWord(padding_ + i, g_.padding * 0x01010101U);
    }
    gemm_.w = w_;
    gemm_.pairs = pairs_;
    gemm_.steps = g_.kernel[1] * g_.channels / kStep;
    gemm_.w_bytes = gemm_.steps * static_cast<int32_t>(2 * kStep * sizeof(int16_t));
    gemm_.x_gap = pass.row_halves * static_cast<int32_t>(sizeof(int16_t)) - gemm_.w_bytes;
    gemm_.y_row = static_cast<int32_t>(g_.y_step[0]);
    gemm_.kind = outputs.kind;
  }

  void Run() {
    for (int image = 0; image < g_.images; ++image) {
      for (int column = 0; column < g_.out_extent[1]; column += pass_.columns) {
        for (int row = 0; row < g_.out_extent[0]; row += pass_.tiles * kTileRows) {
          RunPass(image, row, column);
        }
      }
    }
  }

 private:
  /// The last tile of an odd number of rows computes a row again.
  [[nodiscard]] int RowOf(int row, int tile) const {
    const int at = row + tile * kTileRows;
    const int last = g_.out_extent[0] - kTileRows;
    return at < last ? at : last;
  }

  void RunPass(int image, int row, int column) {
    const int rows = g_.out_extent[0] - row;
    const int left = (rows + 1) / kTileRows;
    const int tiles = left < pass_.tiles ? left : pass_.tiles;
    const int rest = g_.out_extent[1] - column;
    const int columns = rest < pass_.columns ? rest : pass_.columns;
    const uint8_t* const x = g_.x + image * g_.x_image;
    int16_t* to = x_;
    WinogradPair* pair = pairs_;
    for (int tile = 0; tile < tiles; ++tile, to += ptrdiff_t{kWinogradSums} * pass_.row_halves) {
      LoadTile(x, RowOf(row, tile), column, to);
      const auto y_row = static_cast<int32_t>(RowOf(row, tile) * g_.y_step[0]);
      for (int i = 0; i < pass_.half && i < columns; ++i, ++pair) {
        const int second = i + pass_.half < columns ? i + pass_.half : i;
        pair->x = to + ptrdiff_t{i} * 2 * g_.channels;
        pair->y[0] = y_row + static_cast<int32_t>((column + i) * g_.y_step[1]);
        pair->y[1] = y_row + static_cast<int32_t>((column + second) * g_.y_step[1]);
        pair->more = 1;
      }
    }
    pair[-1].more = 0;
    RunOutputs(g_.y + image * g_.y_image);
  }

  /// Makes the sums of the four rows that the tile from `row` and `column` of y on reads.
  void LoadTile(const uint8_t* x, int row, int column, int16_t* to) const {
    const int top = row - g_.pads[0];
    const bool is_inside = top >= 0 && top + kTileInputs <= g_.in_extent[0];
    const int columns = pass_.half + g_.kernel[1] - 1;
    for (int side = 0; side < 2; ++side) {
      const int left = column + side * pass_.half - g_.pads[1];
      int16_t* place = to + side * kStep;
      for (int i = 0; i < columns;) {
        int count = 1;
        const int at = left + i;
        const bool in_row = at >= 0 && at < g_.in_extent[1];
        if (is_inside && in_row && g_.x_step[1] == g_.channels) {
          const int room = g_.in_extent[1] - at;
          count = columns - i < room ? columns - i : room;
        }
        const uint8_t* rows[kTileInputs];
        for (int j = 0; j < kTileInputs; ++j) {
          const int line = top + j;
          const bool is_x = in_row && line >= 0 && line < g_.in_extent[0];
          rows[j] = is_x ? x + line * g_.x_step[0] + at * g_.x_step[1] : padding_;
        }
        SumInputs(rows, less_, count * (g_.channels / kStep), place, pass_.row_halves);
        place += ptrdiff_t{count} * 2 * g_.channels;
        i += count;
      }
    }
  }

  void RunOutputs(uint8_t* y) {
    const Rescale& rescale = outputs_.rescale;
    const uint8_t* row = outputs_.w;
    const bool is_float = outputs_.kind == RequantizeKind::kFloat;
    for (int output = 0; output < outputs_.count; output += 2) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i, row += outputs_.depth) {
        SumWinogradWeights(row, gemm_.steps, w_ + i * kStep);
        const uint32_t bias =
            rescale.bias == nullptr ? 0 : static_cast<uint32_t>(rescale.bias[output + i]);
        gemm_.bias[i] = gemm_.bias[2 + i] = 2 * bias;
        gemm_.requantizer[i].Set(rescale, output + i);
        if (is_float) gemm_.requantizer[i].multiplier -= 1 << 23;  // half of it
      }
      gemm_.output = y + output;
      MultiplyWinograd(gemm_);
    }
  }

  Geometry g_;
  const WinogradPass& pass_;
  const Outputs& outputs_;
  uint32_t less_;
  int16_t* x_;
  int16_t* w_;
  uint8_t* padding_;
  WinogradGemm gemm_;
  WinogradPair pairs_[kMostWinogradPairs];
};

}  // namespace

Status WinogradCheck(const KernelSetup& setup) {
  if (const Reason reason = WinogradSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  return ConvCheck(setup);
}

Status WinogradRun(const KernelCall& call) {
  const OpCall& op = call.op;
  if (op.Output().dims[0] == 0) return OkStatus();
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const int count = w.dims[0];
  const Outputs outputs = OutputsOf(op, op.AttributesAs<QuantizedConvAttributes>().output, count,
                                    static_cast<int>(w.Elements() / count));
  const WinogradPass pass = WinogradPassOf(op, call.workspace_bytes);
  if (pass.tiles == 0 || !TakesOutputs(outputs)) return RunConv(call, nullptr);
  Winograd(op, pass, outputs, call.workspace).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
