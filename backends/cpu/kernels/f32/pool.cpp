// Computes maximum and average pooling. Each item of work is one output row, or some of its
// channels where there are few rows.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/pool_windows.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::f32 {
namespace {

constexpr int64_t kSmallWork = 60'000;
/// Fewer output rows are cut into channels, of which this many stay together.
constexpr int kFewRows = 8;
constexpr int kPartChannels = 64;

using PoolRoutine = void (*)(const PoolCall& call);

struct Pooling {
  PoolRoutine routine;
  PoolAxis axes[2];
  ImageStrides x_strides;
  ImageStrides y_strides;
  const float* x;
  float* y;
  int channels;
  int out_height;
  int out_width;
  int parts;  ///< that the channels are cut into
  bool include_padding;
};

Pooling PoolingOf(const OpCall& op, PoolRoutine routine) {
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  Pooling pooling;
  pooling.routine = routine;
  for (int i = 0; i < 2; ++i) pooling.axes[i] = PoolAxisOf(op, i);
  pooling.x_strides = StridesOf(x);
  pooling.y_strides = StridesOf(y);
  pooling.x = x.As<const float>();
  pooling.y = y.As<float>();
  pooling.channels = y.dims[1];
  pooling.out_height = y.dims[2];
  pooling.out_width = y.dims[3];
  const bool few = int64_t{y.dims[0]} * y.dims[2] < kFewRows;
  pooling.parts = few ? (y.dims[1] + kPartChannels - 1) / kPartChannels : 1;
  pooling.include_padding = op.AttributesAs<PoolAttributes>().count_include_pad != 0;
  return pooling;
}

void RunItem(const Pooling& pooling, int item) {
  const int part = item % pooling.parts;
  const int row = item / pooling.parts % pooling.out_height;
  const int image = item / pooling.parts / pooling.out_height;
  const int first = pooling.parts == 1 ? 0 : part * kPartChannels;
  const int left = pooling.channels - first;
  const PoolAxis& vertical = pooling.axes[0];
  const PoolAxis& horizontal = pooling.axes[1];
  const Window rows = WindowOf(vertical, row);
  const int64_t counted_rows = Counted(vertical, row, pooling.include_padding);
  const ImageStrides& from = pooling.x_strides;
  const float* x = pooling.x + image * from.image + rows.first * from.row + first;
  PoolCall call;
  call.y = pooling.y + image * pooling.y_strides.image + row * pooling.y_strides.row + first;
  call.row_step = vertical.dilation * from.row;
  call.column_step = horizontal.dilation * from.pixel;
  call.rows = rows.taps;
  call.channels = pooling.parts == 1 || left < kPartChannels ? left : kPartChannels;
  for (int column = 0; column < pooling.out_width; ++column) {
    const Window columns = WindowOf(horizontal, column);
    call.x = x + columns.first * from.pixel;
    call.columns = columns.taps;
    call.divisor =
        static_cast<float>(counted_rows * Counted(horizontal, column, pooling.include_padding));
    pooling.routine(call);
    call.y += pooling.y_strides.pixel;
  }
}

Status PoolCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(PoolSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status PoolRun(const KernelCall& call, PoolRoutine routine) {
  const Pooling pooling = PoolingOf(call.op, routine);
  const TensorView& y = call.op.Output();
  int64_t work = y.Elements();
  for (const PoolAxis& axis : pooling.axes) {
    work *= axis.kernel < axis.input ? axis.kernel : axis.input;
  }
  ParallelFor(work < kSmallWork ? nullptr : call.parallel,
              y.dims[0] * pooling.out_height * pooling.parts, [&](int begin, int end) {
                for (int item = begin; item < end; ++item) RunItem(pooling, item);
              });
  return OkStatus();
}

}  // namespace

Status OpenRoutines(const KernelSetup&, void*, void** state) {
  *state = const_cast<Routines*>(&ChosenRoutines());
  return OkStatus();
}

Status MaxPoolCheck(const KernelSetup& setup) { return PoolCheck(setup); }

Status MaxPoolRun(const KernelCall& call) {
  return PoolRun(call, static_cast<const Routines*>(call.state)->max_pool);
}

Status AveragePoolCheck(const KernelSetup& setup) { return PoolCheck(setup); }

Status AveragePoolRun(const KernelCall& call) {
  return PoolRun(call, static_cast<const Routines*>(call.state)->average_pool);
}

}  // namespace tenon::cpu::f32
