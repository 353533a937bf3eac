// Computes quantized convolutions of one group, channels-last.
//
// Windows that are inside x are read in place: a kernel row's pixels are one run of bytes. Those
// that reach into the padding are gathered in the workspace, a few at a time, where the padding
// reads as x's zero point; so are windows of very short runs, or of pixels with gaps between them.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/gemm.hpp"
#include "backends/cpu/kernels/cortex_m/in_place.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::cortex_m {
namespace {

/// Index 0: rows; 1: columns.
struct Geometry : ConvWindow {
  ptrdiff_t x_step[2];
  ptrdiff_t y_step[2];
  int channels;
  bool has_runs;  ///< a kernel row's pixels lie side by side
};

Geometry GeometryOf(const OpCall& op) {
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  const TensorView& y = op.Output();
  Geometry g;
  for (int i = 0; i < 2; ++i) {
    SetConvAxis(op, i, g);
    g.x_step[i] = x.strides[2 + i];
    g.y_step[i] = y.strides[2 + i];
    // Steps that are never taken may be any number.
    if (g.out_extent[i] == 1) g.strides[i] = 1;
    if (g.kernel[i] == 1) g.dilations[i] = 1;
  }
  g.channels = op.Input(QuantizedGemmInput::kWeights).dims[1];
  g.has_runs = g.kernel[1] == 1 || (g.dilations[1] == 1 && g.x_step[1] == g.channels);
  return g;
}

/// Returns the first position along `axis` of an output's window; negative in the padding.
int WindowStart(const Geometry& g, int axis, int output) {
  return output * g.strides[axis] - g.pads[axis];
}

/// Returns the distance from a window's first position to its last.
int Reach(const Geometry& g, int axis) { return (g.kernel[axis] - 1) * g.dilations[axis]; }

/// Finds the outputs [begin, end) along `axis` whose windows are inside x.
struct Inside {
  Inside(const Geometry& g, int axis) {
    while (begin < g.out_extent[axis] && WindowStart(g, axis, begin) < 0) ++begin;
    end = g.out_extent[axis];
    while (end > begin && WindowStart(g, axis, end - 1) + Reach(g, axis) >= g.in_extent[axis])
      --end;
  }
  [[nodiscard]] bool Has(int output) const { return output >= begin && output < end; }

  int begin = 0;
  int end = 0;
};

/// Is a buffer for windows that are gathered.
struct Gathered {
  int8_t* windows;  ///< null: none are
  int most;
  int8_t padding;
};

class Conv {
 public:
  Conv(const Geometry& geometry, const Gemm& gemm, const Gathered& gathered)
      : g_(geometry), gemm_(gemm), gathered_(gathered), rows_(geometry, 0), columns_(geometry, 1) {}

  /// Computes rows [first, first + count) of the image `x` into `y`.
  void RunRows(const int8_t* x, int first, int count, int8_t* y) {
    x_ = x;
    y_ = y;
    first_row_ = first;
    const int pixels = count * g_.out_extent[1];
    if (CanRunAsOneRow()) return RunInPlace(first, 0, pixels);
    if (CanGatherRows()) return RunGatheredPixels(pixels);
    const bool has_long_runs =
        g_.has_runs && g_.kernel[1] * g_.channels >= gemm_.routines->least_run_bytes;
    if (gathered_.windows != nullptr && !has_long_runs && HasDenseRows()) {
      return RunGathered(first, 0, 1, pixels);
    }
    for (int row = first; row < first + count; ++row) {
      if (gathered_.windows == nullptr) {
        RunInPlace(row, 0, g_.out_extent[1]);
      } else if (has_long_runs && rows_.Has(row)) {
        RunBorders(row);
        RunInPlace(row, columns_.begin, columns_.end - columns_.begin);
      } else {
        RunGathered(row, 0, 1, g_.out_extent[1]);
      }
    }
  }

 private:
  /// Returns true for a pointwise convolution that reads every pixel of x once.
  [[nodiscard]] bool CanRunAsOneRow() const {
    if (gathered_.windows != nullptr || g_.strides[0] != 1 || g_.strides[1] != 1) return false;
    return g_.out_extent[0] == 1 || (g_.x_step[0] == g_.x_step[1] * g_.in_extent[1] &&
                                     g_.y_step[0] == g_.y_step[1] * g_.out_extent[1]);
  }

  /// Pixels of x with steps between them, to outputs without.
  [[nodiscard]] bool CanGatherRows() const {
    const bool inside = rows_.begin == 0 && rows_.end == g_.out_extent[0] && columns_.begin == 0 &&
                        columns_.end == g_.out_extent[1];
    return gathered_.windows != nullptr && g_.kernel[0] == 1 && g_.kernel[1] == 1 && inside &&
           HasDenseRows();
  }

  /// Returns true if the output's pixels all have the same distance.
  [[nodiscard]] bool HasDenseRows() const {
    return g_.out_extent[0] == 1 || g_.y_step[0] == g_.y_step[1] * g_.out_extent[1];
  }

  void RunGatheredPixels(int pixels) const {
    Runs runs;
    runs.to_run = runs.run_bytes = g_.channels;
    runs.from_run = g_.x_step[1] * g_.strides[1];
    int row = first_row_;
    int column = 0;
    for (int done = 0; done < pixels;) {
      const int most = pixels - done < gathered_.most ? pixels - done : gathered_.most;
      int count = 0;
      runs.to = gathered_.windows;
      while (count < most) {  // row by row
        const int left = g_.out_extent[1] - column;
        runs.runs = left < most - count ? left : most - count;
        runs.from =
            x_ + WindowStart(g_, 0, row) * g_.x_step[0] + WindowStart(g_, 1, column) * g_.x_step[1];
        gemm_.routines->copy(runs);
        runs.to += runs.runs * runs.to_run;
        count += runs.runs;
        column += runs.runs;
        if (column < g_.out_extent[1]) continue;
        column = 0;
        ++row;
      }
      Positions positions;
      positions.x = gathered_.windows;
      positions.x_pixel = positions.run_bytes = g_.channels;
      positions.y = y_ + done * g_.y_step[1];
      positions.y_pixel = g_.y_step[1];
      positions.count = count;
      RunGemm(gemm_, positions);
      done += count;
    }
  }

  void RunBorders(int row) const {
    const int after = g_.out_extent[1] - columns_.end;
    if (columns_.begin == 1 && after == 1) {
      RunGathered(row, 0, columns_.end, 2);
    } else {
      RunGathered(row, 0, 1, columns_.begin);
      RunGathered(row, columns_.end, 1, after);
    }
  }

  void RunInPlace(int row, int column, int count) const {
    if (count == 0) return;
    Positions positions;
    positions.x =
        x_ + WindowStart(g_, 0, row) * g_.x_step[0] + WindowStart(g_, 1, column) * g_.x_step[1];
    positions.x_pixel = g_.x_step[1] * g_.strides[1];
    positions.x_run = g_.x_step[0] * g_.dilations[0];
    positions.runs = g_.kernel[0];
    positions.run_bytes = g_.kernel[1] * g_.channels;
    Run(positions, row, column, count, 1);
  }

  /// `count` positions from `column` on, `step` apart; those next to each other (step 1) may go on
  /// in the next rows, where those are dense.
  void RunGathered(int row, int column, int step, int count) const {
    while (count > 0) {
      const int now = count < gathered_.most ? count : gathered_.most;
      const int first_row = row;
      const int first_column = column;
      for (int i = 0; i < now; ++i) {
        Gather(row, column, gathered_.windows + i * gemm_.depth);
        column += step;
        if (column < g_.out_extent[1]) continue;
        column -= g_.out_extent[1];
        ++row;
      }
      Positions positions;
      positions.x = gathered_.windows;
      positions.x_pixel = gemm_.depth;
      positions.run_bytes = static_cast<int>(gemm_.depth);
      Run(positions, first_row, first_column, now, step);
      count -= now;
    }
  }

  void Run(Positions& positions, int row, int column, int count, int step) const {
    positions.y = y_ + (row - first_row_) * g_.y_step[0] + column * g_.y_step[1];
    positions.y_pixel = g_.y_step[1] * step;
    positions.count = count;
    RunGemm(gemm_, positions);
  }

  /// Limits the taps along `axis` of a window that begins at `start` to those inside x: [first,
  /// end).
  void ClipTaps(int axis, int start, int& first, int& end) const {
    while (first < end && start + first * g_.dilations[axis] < 0) ++first;
    while (end > first && start + (end - 1) * g_.dilations[axis] >= g_.in_extent[axis]) --end;
  }

  void Gather(int row, int column, int8_t* to) const {
    const int start[2] = {WindowStart(g_, 0, row), WindowStart(g_, 1, column)};
    int first[2] = {0, 0};
    int end[2] = {g_.kernel[0], g_.kernel[1]};
    if (!rows_.Has(row) || !columns_.Has(column)) {
      for (int i = 0; i < 2; ++i) ClipTaps(i, start[i], first[i], end[i]);
      gemm_.routines->fill(to, gathered_.padding, gemm_.depth);
      if (first[0] >= end[0] || first[1] >= end[1]) return;
    }
    Runs runs;
    runs.to_run = ptrdiff_t{g_.kernel[1]} * g_.channels;
    runs.runs = end[0] - first[0];
    runs.from_run = runs.runs > 1 ? g_.x_step[0] * g_.dilations[0] : 0;
    const int taps = g_.has_runs ? end[1] - first[1] : 1;  // of one run
    runs.run_bytes = taps * g_.channels;
    runs.to = to + first[0] * runs.to_run + ptrdiff_t{first[1]} * g_.channels;
    runs.from = x_ + (start[0] + first[0] * g_.dilations[0]) * g_.x_step[0] +
                (start[1] + first[1] * g_.dilations[1]) * g_.x_step[1];
    for (int tap = first[1]; tap < end[1]; tap += taps) {
      gemm_.routines->copy(runs);
      runs.to += g_.channels;
      if (tap + taps < end[1]) runs.from += g_.dilations[1] * g_.x_step[1];
    }
  }

  const Geometry& g_;
  const Gemm& gemm_;
  Gathered gathered_;
  Inside rows_;
  Inside columns_;
  const int8_t* x_ = nullptr;  ///< of the image
  int8_t* y_ = nullptr;        ///< of row `first_row_`
  int first_row_ = 0;
};

}  // namespace

/// Returns true if the pixels of an image all have the same distance.
bool HasDenseRows(const TensorView& image) {
  return image.dims[2] == 1 || image.strides[2] == image.strides[3] * image.dims[3];
}

/// Runs a pointwise convolution that reads every pixel of x once: images are rows.
void RunPixels(const TensorView& x, const TensorView& y, const Gemm& gemm) {
  Positions pixels;
  pixels.x_pixel = x.strides[3];
  pixels.run_bytes = x.dims[1];
  pixels.y_pixel = y.strides[3];
  pixels.count = y.dims[2] * y.dims[3];
  for (int image = 0; image < y.dims[0]; ++image) {
    pixels.x = x.As<const int8_t>() + ptrdiff_t{image} * x.strides[0];
    pixels.y = y.As<int8_t>() + ptrdiff_t{image} * y.strides[0];
    RunGemm(gemm, pixels);
  }
}

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = ConvSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckOperands(op, setup.workspace_bytes, ConvLeastBytes(op, 1)));
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const bool ordered = w.IsChannelsLast();
  TENON_ENSURE(
      ordered && HasStride(op.Input(QuantizedGemmInput::kX), 1, 1) && HasStride(op.Output(), 1, 1),
      kUnsupported, "the Cortex-M convolution takes channels that are neighbours");
  return OkStatus();
}

Status ConvInPlaceCheck(const KernelSetup& setup) {
  return CheckOverInput(setup, ConvCheck, ConvLeastBytes);
}

namespace {

Gemm GemmOf(const OpCall& op, void* workspace, const GemmRoutines& routines) {
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  Gemm gemm;
  gemm.routines = &routines;
  gemm.w = w.As<const int8_t>();
  gemm.outputs = w.dims[0];
  gemm.depth = ptrdiff_t{w.dims[1]} * w.dims[2] * w.dims[3];
  SetRescale(op, op.AttributesAs<QuantizedConvAttributes>().output,
             static_cast<int32_t*>(workspace), gemm);
  return gemm;
}

Gathered GatheredOf(const OpCall& op, void* workspace, size_t bytes) {
  if (IsInPlacePointwise(op)) return {nullptr, 0, 0};
  return {static_cast<int8_t*>(workspace) + ConvBiasBytes(op), GatheredPixels(op, bytes),
          static_cast<int8_t>(ZeroPointOf(op))};
}

}  // namespace

void RunConv(const KernelCall& call, const GemmRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  const TensorView& y = op.Output();
  if (IsEmpty(y)) return;
  const Gemm gemm = GemmOf(op, call.workspace, routines);
  if (IsInPlacePointwise(op) && HasDenseRows(x) && HasDenseRows(y)) {
    return RunPixels(x, y, gemm);
  }
  const Geometry geometry = GeometryOf(op);
  Conv conv(geometry, gemm, GatheredOf(op, call.workspace, call.workspace_bytes));
  for (int image = 0; image < y.dims[0]; ++image) {
    conv.RunRows(x.As<const int8_t>() + ptrdiff_t{image} * x.strides[0], 0, y.dims[2],
                 y.As<int8_t>() + ptrdiff_t{image} * y.strides[0]);
  }
}

void RunConvInPlace(const KernelCall& call, const GemmRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  if (IsEmpty(x)) return;
  const size_t room = InPlaceRoom(call, ConvWorkspaceBytes(op, 1));
  const size_t own_bytes = call.workspace_bytes - room;
  void* const own = static_cast<char*>(call.workspace) + room;
  const Gemm gemm = GemmOf(op, own, routines);
  Geometry geometry = GeometryOf(op);
  geometry.y_step[1] = gemm.outputs;
  geometry.y_step[0] = ptrdiff_t{gemm.outputs} * geometry.out_extent[1];
  Conv conv(geometry, gemm, GatheredOf(op, own, own_bytes));
  RunOverInput(call, room, [&](int image, int first, int count, int8_t* to) {
    conv.RunRows(x.As<const int8_t>() + ptrdiff_t{image} * x.strides[0], first, count, to);
  });
}

}  // namespace tenon::cpu::cortex_m
