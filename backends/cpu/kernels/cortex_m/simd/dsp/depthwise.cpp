// Computes quantized depthwise convolutions: as many outputs as inputs, each channel by itself.
//
// Windows that are not 3x3 are read where they lie (depthwise_windows.cpp), and 3x3 ones of most
// models two rows of outputs at a time if the workspace suffices (depthwise_pairs.cpp). Of the
// others four channels are computed at a time. Their rows are widened into separate planes, so that
// a window's inputs are adjacent, as instructions with two products need them. Of small images, as
// many rows as fit are computed at once; else as many are kept as a window has. A row of y is
// written when all rows of x that are still needed have been read, so that y may overwrite x
// element by element.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_rows.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kPlanes = kDepthwisePlanes;
using In = QuantizedGemmInput;
/// Is the number of outputs whose sums are on the stack; even.
constexpr int kSums = 32;

class Depthwise {
 public:
  explicit Depthwise(const KernelCall& call)
      : op_(call.op),
        g_(GeometryOf(op_)),
        planes_(DepthwisePlanesOf(op_, call.workspace_bytes)),
        rescale_(RescaleOf(op_, op_.AttributesAs<QuantizedConvAttributes>().output,
                           int64_t{g_.kernel[0]} * g_.kernel[1])),
        kind_(RequantizeKindOf(rescale_, g_.outputs)),
        is_simple_(IsDoubled(kind_)),
        widening_(WideningOfX(op_, false)),
        plane_halves_(ptrdiff_t{planes_.rows} * planes_.row_halves),
        halves_(static_cast<int16_t*>(call.workspace)) {
    PrepareThreeRows();
    // Nobody writes to the columns of padding.
    FillZeros(halves_, kPlanes * plane_halves_);
    const int columns =
        (g_.out_extent[1] - 1) * g_.strides[1] + (g_.kernel[1] - 1) * g_.dilations[1] + 1;
    before_ = g_.pads[1] < columns ? g_.pads[1] : columns;
    const int room = g_.in_extent[1] + g_.pads[1];
    columns_ = (room < columns ? room : columns) - before_;
  }

  void Run() {
    for (int channel = 0; channel < g_.channels; channel += kPlanes) {
      const int left = g_.channels - channel;
      const int count = left < kPlanes ? left : kPlanes;
      for (int i = 0; i < count; ++i) Prepare(channel + i, i);
      for (int image = 0; image < g_.images; ++image) {
        RunImage(g_.x + image * g_.x_image + channel, g_.y + image * g_.y_image + channel, channel,
                 count);
      }
    }
  }

 private:
  void RunImage(const uint8_t* x, uint8_t* y, int channel, int count) {
    if (planes_.lines > 1) return RunByLines(x, y, channel, count);
    int row = -g_.pads[0];  // the next of x
    int place = 0;          // where it goes: each row of x takes the place of the oldest
    for (int i = 0; i < g_.out_extent[0]; ++i, y += g_.y_step[0]) {
      const int end = i * g_.strides[0] - g_.pads[0] + planes_.rows;
      for (; row < end; ++row) {
        LoadRow(x, row, count, halves_ + ptrdiff_t{place} * planes_.row_halves);
        place = place + 1 == planes_.rows ? 0 : place + 1;
      }
      RunThreeByThree(place, 1, channel, count, y);  // the oldest is the window's first
    }
  }

  /// Computes some rows of y at once, for 3x3 windows with steps of 1.
  void RunByLines(const uint8_t* x, uint8_t* y, int channel, int count) {
    constexpr int kKept = 2;
    int row = -g_.pads[0];  // the next of x
    for (int i = 0; i < g_.out_extent[0]; i += planes_.lines) {
      const int left = g_.out_extent[0] - i;
      const int lines = left < planes_.lines ? left : planes_.lines;
      int place = 0;
      if (i > 0) {
        for (int j = 0; j < count; ++j) MoveUp(halves_ + j * plane_halves_);
        place = kKept;
      }
      for (; place < lines + kKept; ++place, ++row) {
        LoadRow(x, row, count, halves_ + ptrdiff_t{place} * planes_.row_halves);
      }
      RunThreeByThree(0, lines, channel, count, y);
      y += lines * g_.y_step[0];
    }
  }

  /// Makes the last two rows of a plane its first.
  void MoveUp(int16_t* plane) const {
    const int16_t* from = plane + ptrdiff_t{planes_.lines} * planes_.row_halves;
    const int16_t* const end = from + ptrdiff_t{2} * planes_.row_halves;
    for (; from != end; from += 4, plane += 4) {
      StoreTwoWords(plane, LoadWord(from), LoadWord(from + 2));
    }
  }

  /// Returns where the `offset`th row of the window is in a plane.
  [[nodiscard]] ptrdiff_t RowOf(int place, int offset) const {
    const int at = place + offset;
    return ptrdiff_t{at < planes_.rows ? at : at - planes_.rows} * planes_.row_halves;
  }

  [[nodiscard]] uint32_t BeginOf(int channel) const {
    const int32_t bias = rescale_.bias == nullptr ? 0 : rescale_.bias[channel];
    return static_cast<uint32_t>(bias) << (is_simple_ ? 1 : 0);
  }

  void Prepare(int channel, int plane) {
    ThreeRows& rows = three_rows_[plane];
    rows.bias[0] = rows.bias[1] = BeginOf(channel);
    PackNine(channel, rows.weights);
    if (kind_ != RequantizeKind::kAny) rows.requantizer.Set(rescale_, channel);
  }

  /// Prepares what is the same for all channels.
  void PrepareThreeRows() {
    const int gap = planes_.row_halves - (g_.out_extent[1] + 1) / 2 * 2;
    for (ThreeRows& rows : three_rows_) {
      rows.y_step = static_cast<int32_t>(g_.y_step[1]);
      rows.outputs = g_.out_extent[1];
      rows.x_gap = gap * static_cast<int>(sizeof(int16_t));
      rows.y_gap = static_cast<int32_t>(g_.y_step[0] - g_.out_extent[1] * g_.y_step[1]);
      rows.sums = nullptr;
      rows.kind = kind_;
    }
  }

  [[nodiscard]] Widening WideningOfWeights(int channel) const {
    uint8_t zero_point = 0;
    if (op_.HasInput(In::kWeightsZeroPoint)) {
      const TensorView& zero_points = op_.Input(In::kWeightsZeroPoint);
      zero_point = zero_points.As<const uint8_t>()[zero_points.dims[0] > 1 ? channel : 0];
    }
    return WideningOf(op_.Input(In::kWeights).dtype == DType::kI8, zero_point, is_simple_);
  }

  /// As ThreeRows wants them.
  void PackNine(int channel, uint32_t* to) const {
    const TensorView& w = op_.Input(In::kWeights);
    const auto* row = w.As<const uint8_t>() + ptrdiff_t{channel} * w.strides[0];
    const ptrdiff_t step = w.strides[3];
    if (w.dtype == DType::kI8 && !op_.HasInput(In::kWeightsZeroPoint)) {
      const int factor = is_simple_ ? 2 : 1;
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i, row += w.strides[2], to += 2) {
        const int32_t middle = static_cast<int8_t>(row[step]) * factor;
        to[0] = Halves(static_cast<int8_t>(row[0]) * factor, middle);
        to[1] = Halves(middle, static_cast<int8_t>(row[2 * step]) * factor);
      }
      return;
    }
    const Widening widening = WideningOfWeights(channel);
    for (int i = 0; i < 3; ++i, row += w.strides[2], to += 2) {
      const int32_t middle = Widened(widening, row[step]);
      to[0] = Halves(Widened(widening, row[0]), middle);
      to[1] = Halves(middle, Widened(widening, row[2 * step]));
    }
  }

  /// Loads row `row` of x, which may be outside, of `count` channels.
  void LoadRow(const uint8_t* x, int row, int count, int16_t* to) const {
    if (row < 0 || row >= g_.in_extent[0]) {
      for (int i = 0; i < count; ++i) FillZeros(to + i * plane_halves_, planes_.row_halves);
      return;
    }
    to += before_;
    const uint8_t* from = x + row * g_.x_step[0];
    if (count == kPlanes) {
      return WidenPlanes(widening_, from, g_.x_step[1], columns_, to, plane_halves_);
    }
    for (int i = 0; i < columns_; ++i, from += g_.x_step[1]) {
      for (int j = 0; j < count; ++j) to[j * plane_halves_ + i] = Widened(widening_, from[j]);
    }
  }

  static void FillZeros(int16_t* to, ptrdiff_t count) {
    for (; count > 0; count -= 2, to += 2) StoreWord(to, 0);
  }

  void RunThreeByThree(int place, int lines, int channel, int count, uint8_t* y) {
    const auto run = g_.strides[1] == 1 ? RunThreeRows : RunThreeRowsApart;
    const int16_t* starts[3];
    for (int i = 0; i < 3; ++i) starts[i] = halves_ + RowOf(place, i);
    for (int j = 0; j < count; ++j, ++y) {
      ThreeRows& rows = three_rows_[j];
      for (int i = 0; i < 3; ++i) rows.rows[i] = starts[i] + j * plane_halves_;
      rows.y = y;
      rows.lines = lines;
      if (kind_ != RequantizeKind::kAny) {
        run(rows);
      } else {
        for (int i = 0; i < lines; ++i) RunAndStore(channel + j, i, rows);
      }
    }
  }

  void RunAndStore(int channel, int line, const ThreeRows& rows) const {
    uint32_t sums[kSums];
    ThreeRows part = rows;
    part.sums = sums;
    part.lines = 1;
    part.y += line * g_.y_step[0];
    for (const int16_t*& row : part.rows) row += ptrdiff_t{line} * planes_.row_halves;
    for (int first = 0; first < g_.out_extent[1]; first += kSums) {
      part.outputs = g_.out_extent[1] - first < kSums ? g_.out_extent[1] - first : kSums;
      (g_.strides[1] == 1 ? RunThreeRows : RunThreeRowsApart)(part);
      StoreSums(rescale_, channel,
                {sums, 1, part.outputs, is_simple_, part.y + first * g_.y_step[1], nullptr,
                 g_.y_step[1]});
      for (const int16_t*& row : part.rows) row += kSums * g_.strides[1];
    }
  }

  const OpCall& op_;
  Geometry g_;
  DepthwisePlanes planes_;
  Rescale rescale_;
  RequantizeKind kind_;
  bool is_simple_;  ///< weights are doubled
  Widening widening_;
  ptrdiff_t plane_halves_;
  int16_t* halves_;  ///< [plane][row][column]
  int before_;       ///< columns of padding
  int columns_;      ///< of x that are read
  ThreeRows three_rows_[kPlanes];
};

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwisePlanesSupports(op))
    return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()), kUnsupported,
               "the DSP convolution takes channels that are neighbours in memory");
  return cortex_m::CheckOperands(op, setup.workspace_bytes, DepthwiseLeastWorkspaceBytes(op));
}

Status DepthwiseRun(const KernelCall& call) {
  if (cortex_m::IsEmpty(call.op.Output())) return OkStatus();
  if (!RunsDepthwisePairs(call)) Depthwise(call).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
