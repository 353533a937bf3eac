// Quantized convolution of one group, channels-last.
//
// Windows that lie inside x are read where they lie: a kernel row's pixels are one run of bytes.
// Those that reach into the padding are gathered in the workspace, a few at a time, the padding
// reading as x's zero point; so are windows of very short runs, or of pixels that lie apart.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/product.hpp"

namespace tenon::cpu::cortex_m {
namespace {

/// Index 0: rows; 1: columns.
struct Geometry {
  const int8_t* x;  ///< of one image
  int8_t* y;
  ptrdiff_t x_step[2];
  ptrdiff_t y_step[2];
  int in[2];
  int out[2];
  int kernel[2];
  int strides[2];
  int dilations[2];
  int pads[2];
  int channels;
  bool has_runs;  ///< a kernel row's pixels lie side by side
};

Geometry GeometryOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& w = op.Input(1);
  const TensorView& y = op.Output();
  Geometry g = {};
  for (int i = 0; i < 2; ++i) {
    g.x_step[i] = x.strides[2 + i];
    g.y_step[i] = y.strides[2 + i];
    g.in[i] = x.dims[2 + i];
    g.out[i] = y.dims[2 + i];
    g.kernel[i] = w.dims[2 + i];
    g.strides[i] = attributes.strides[i];
    g.dilations[i] = attributes.dilations[i];
    g.pads[i] = attributes.pads[i];
  }
  g.channels = w.dims[1];
  g.has_runs = g.kernel[1] == 1 || (g.dilations[1] == 1 && g.x_step[1] == g.channels);
  return g;
}

/// First position along `axis` of an output's window; negative in the padding.
int WindowStart(const Geometry& g, int axis, int output) {
  return output * g.strides[axis] - g.pads[axis];
}

/// From a window's first position to its last.
int Reach(const Geometry& g, int axis) { return (g.kernel[axis] - 1) * g.dilations[axis]; }

bool IsInside(const Geometry& g, int axis, int output) {
  const int start = WindowStart(g, axis, output);
  return start >= 0 && start + Reach(g, axis) < g.in[axis];
}

class Conv {
 public:
  Conv(const Geometry& geometry, const Product& product, int8_t zero_point, int8_t* gathered)
      : g_(geometry), product_(product), zero_point_(zero_point), gathered_(gathered) {}

  void RunImage() const {
    if (CanRunAsOneRow()) return RunInPlace(0, 0, g_.out[0] * g_.out[1]);
    for (int row = 0; row < g_.out[0]; ++row) RunRow(row);
  }

 private:
  /// Pointwise, every pixel of x once.
  [[nodiscard]] bool CanRunAsOneRow() const {
    if (gathered_ != nullptr || g_.strides[0] != 1 || g_.strides[1] != 1) return false;
    return g_.out[0] == 1 ||
           (g_.x_step[0] == g_.x_step[1] * g_.in[1] && g_.y_step[0] == g_.y_step[1] * g_.out[1]);
  }

  void RunRow(int row) const {
    const bool in_place =
        gathered_ == nullptr || (g_.has_runs && IsInside(g_, 0, row) &&
                                 g_.kernel[1] * g_.channels >= product_.routines->least_run_bytes);
    for (int column = 0; column < g_.out[1];) {
      int count = 0;
      while (column + count < g_.out[1] && in_place && IsInside(g_, 1, column + count)) ++count;
      if (count > 0) {
        RunInPlace(row, column, count);
      } else {
        count = RunGathered(row, column, in_place);
      }
      column += count;
    }
  }

  void RunInPlace(int row, int column, int count) const {
    Positions positions;
    positions.x =
        g_.x + WindowStart(g_, 0, row) * g_.x_step[0] + WindowStart(g_, 1, column) * g_.x_step[1];
    positions.x_pixel = g_.x_step[1] * g_.strides[1];
    positions.x_run = g_.x_step[0] * g_.dilations[0];
    positions.runs = g_.kernel[0];
    positions.run_bytes = g_.kernel[1] * g_.channels;
    Run(positions, row, column, count);
  }

  /// Gives the number of positions done.
  int RunGathered(int row, int column, bool border_only) const {
    int count = 0;
    while (count < kGatheredPixels && column + count < g_.out[1]) {
      if (border_only && IsInside(g_, 1, column + count)) break;
      Gather(row, column + count, gathered_ + count * product_.depth);
      ++count;
    }
    Positions positions;
    positions.x = gathered_;
    positions.x_pixel = product_.depth;
    positions.run_bytes = static_cast<int>(product_.depth);
    Run(positions, row, column, count);
    return count;
  }

  void Run(Positions& positions, int row, int column, int count) const {
    positions.y = g_.y + row * g_.y_step[0] + column * g_.y_step[1];
    positions.y_pixel = g_.y_step[1];
    positions.count = count;
    RunProduct(product_, positions);
  }

  void Gather(int row, int column, int8_t* to) const {
    const int start = WindowStart(g_, 1, column);
    int at_row = WindowStart(g_, 0, row);
    for (int i = 0; i < g_.kernel[0]; ++i, at_row += g_.dilations[0]) {
      if (at_row < 0 || at_row >= g_.in[0]) {
        to = Fill(to, g_.kernel[1]);
      } else {
        to = GatherRow(g_.x + at_row * g_.x_step[0], start, to);
      }
    }
  }

  int8_t* GatherRow(const int8_t* row, int start, int8_t* to) const {
    int first = 0;  // taps [first, end) lie inside
    int end = g_.kernel[1];
    while (first < end && start + first * g_.dilations[1] < 0) ++first;
    while (end > first && start + (end - 1) * g_.dilations[1] >= g_.in[1]) --end;
    to = Fill(to, first);
    if (g_.has_runs) {
      to = Copy(to, row + (start + first) * g_.x_step[1], (end - first) * g_.channels, end > first);
    } else {
      for (int tap = first; tap < end; ++tap) {
        to = Copy(to, row + (start + tap * g_.dilations[1]) * g_.x_step[1], g_.channels, true);
      }
    }
    return Fill(to, g_.kernel[1] - end);
  }

  int8_t* Copy(int8_t* to, const int8_t* from, int count, bool any) const {
    if (any) product_.routines->copy(to, from, count);
    return to + count;
  }

  int8_t* Fill(int8_t* to, int taps) const {
    for (int i = taps * g_.channels; i > 0; --i) *to++ = zero_point_;
    return to;
  }

  const Geometry& g_;
  const Product& product_;
  int8_t zero_point_;
  int8_t* gathered_;  ///< null: nothing is gathered
};

}  // namespace

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = ConvSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckOperands(op, setup.workspace_bytes, ConvWorkspaceBytes(op, 1)));
  const TensorView& w = op.Input(1);
  const bool ordered = w.IsChannelsLast();
  TENON_ENSURE(ordered && HasStride(op.Input(0), 1, 1) && HasStride(op.Output(), 1, 1),
               kUnsupported, "the Cortex-M convolution takes channels that are neighbours");
  return OkStatus();
}

void RunConv(const KernelCall& call, const ProductRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  if (y.Elements() == 0) return;
  Geometry geometry = GeometryOf(op);
  Product product;
  product.routines = &routines;
  product.w = op.Input(1).As<const int8_t>();
  product.outputs = y.dims[1];
  product.depth = ptrdiff_t{geometry.channels} * geometry.kernel[0] * geometry.kernel[1];
  product.rescale = RescaleOf(op, op.AttributesAs<QuantizedConvAttributes>().output);
  auto* sums = static_cast<int32_t*>(call.workspace);
  SetSums(op, product, sums);
  product.bias = sums;
  int8_t* gathered = nullptr;
  if (!IsPointwise(op)) {
    gathered = static_cast<int8_t*>(call.workspace) + ConvWorkspaceBytes(op, 1) -
               kGatheredPixels * product.depth;
  }
  const Conv conv(geometry, product, static_cast<int8_t>(ZeroPointOf(op)), gathered);
  for (int image = 0; image < y.dims[0]; ++image) {
    geometry.x = x.As<const int8_t>() + ptrdiff_t{image} * x.strides[0];
    geometry.y = y.As<int8_t>() + ptrdiff_t{image} * y.strides[0];
    conv.RunImage();
  }
}

}  // namespace tenon::cpu::cortex_m
