// Maximum and average pooling of bytes: each item of work is one output row, or some of its
// channels where there are few rows. A sum over whole images is pooling with one window.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/pool_windows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedAveragePoolInput;

constexpr int64_t kSmallWork = 30'000;
/// Fewer output rows are cut into channels, of which this many stay together.
constexpr int kFewRows = 8;
constexpr int kPartChannels = 128;

using PoolRoutine = void (*)(const PoolCall& call);

struct Pooling {
  PoolRoutine routine;
  PoolAxis axes[2];
  const TensorView* x;
  const TensorView* y;
  int parts;        ///< that the channels are cut into
  PoolCall call;    ///< what all windows share
  bool is_average;  ///< whose count differs from window to window
  bool with_padding;
  float scale;
};

int PartsOf(int64_t rows, int channels) {
  return rows < kFewRows ? (channels + kPartChannels - 1) / kPartChannels : 1;
}

/// Serves ops whose attributes begin with PoolAttributes.
Pooling PoolingOf(const OpCall& op, PoolRoutine routine) {
  Pooling pooling = {};
  pooling.routine = routine;
  for (int i = 0; i < 2; ++i) pooling.axes[i] = PoolAxisOf(op, i);
  pooling.x = &op.Input(0);
  pooling.y = &op.Output();
  const TensorView& y = *pooling.y;
  pooling.parts = PartsOf(int64_t{y.dims[0]} * y.dims[2], y.dims[1]);
  pooling.call.flip = FlipToI8(pooling.x->dtype);
  return pooling;
}

void SetAverage(const Pooling& pooling, int64_t count, SumEpilogue* epilogue) {
  epilogue->divisor = count;
  epilogue->factor = pooling.scale / static_cast<float>(count);
}

void RunItem(const Pooling& pooling, int item) {
  const TensorView& x = *pooling.x;
  const TensorView& y = *pooling.y;
  const int part = item % pooling.parts;
  const int row = item / pooling.parts % y.dims[2];
  const int64_t image = item / pooling.parts / y.dims[2];
  const int first = pooling.parts == 1 ? 0 : part * kPartChannels;
  const int left = y.dims[1] - first;
  const Window rows = WindowOf(pooling.axes[0], row);
  const int64_t counted_rows = Counted(pooling.axes[0], row, pooling.with_padding);
  const uint8_t* from =
      x.As<const uint8_t>() + image * x.strides[0] + rows.first * x.strides[2] + first;
  PoolCall call = pooling.call;
  call.y = y.As<uint8_t>() + image * y.strides[0] + int64_t{row} * y.strides[2] + first;
  call.row_step = pooling.axes[0].dilation * x.strides[2];
  call.column_step = pooling.axes[1].dilation * x.strides[3];
  call.rows = rows.taps;
  call.channels = pooling.parts == 1 || left < kPartChannels ? left : kPartChannels;
  for (int column = 0; column < y.dims[3]; ++column) {
    const Window columns = WindowOf(pooling.axes[1], column);
    call.x = from + columns.first * x.strides[3];
    call.columns = columns.taps;
    if (pooling.is_average) {
      const int64_t counted = Counted(pooling.axes[1], column, pooling.with_padding);
      SetAverage(pooling, counted_rows * counted, &call.epilogue);
    }
    pooling.routine(call);
    call.y += y.strides[3];
  }
}

Status RunPooling(const KernelCall& call, const Pooling& pooling) {
  const TensorView& y = *pooling.y;
  int64_t work = y.Elements();
  for (const PoolAxis& axis : pooling.axes) {
    work *= axis.kernel < axis.input ? axis.kernel : axis.input;
  }
  ParallelFor(work < kSmallWork ? nullptr : call.parallel, y.dims[0] * y.dims[2] * pooling.parts,
              [&](int begin, int end) {
                for (int item = begin; item < end; ++item) RunItem(pooling, item);
              });
  return OkStatus();
}

}  // namespace

Status MaxPoolCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(MaxPoolSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status MaxPoolRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  return RunPooling(call, PoolingOf(call.op, routines.max_pool));
}

Status AveragePoolCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(AveragePoolSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status AveragePoolRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const auto& attributes = call.op.AttributesAs<QuantizedAveragePoolAttributes>();
  Pooling pooling = PoolingOf(call.op, routines.sum_pool);
  pooling.is_average = true;
  pooling.with_padding = attributes.pool.count_include_pad != 0;
  pooling.scale = attributes.scale.scale;
  pooling.call.zero_point = attributes.x_zero_point - OffsetToI8(call.op.Input(0).dtype);
  pooling.call.epilogue.kind = attributes.output.rounding == Rounding::kHalfAway
                                   ? SumEpilogue::Kind::kDivide
                                   : SumEpilogue::Kind::kFloat;
  pooling.call.epilogue.output = ByteOutputOf(attributes.output);
  return RunPooling(call, pooling);
}

Status ImageSumCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(ImageSumSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status ImageSumRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const auto& attributes = call.op.AttributesAs<QuantizedReduceAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int channels = x.dims[1];
  const int parts = (channels + kPartChannels - 1) / kPartChannels;
  PoolCall whole = {};
  whole.row_step = x.strides[2];
  whole.column_step = x.strides[3];
  whole.rows = x.dims[2];
  whole.columns = x.dims[3];
  whole.flip = FlipToI8(x.dtype);
  whole.zero_point = attributes.x_zero_point - OffsetToI8(x.dtype);
  whole.epilogue.kind = attributes.output.rounding == Rounding::kFixedPoint
                            ? SumEpilogue::Kind::kFixedPoint
                            : SumEpilogue::Kind::kFloat;
  whole.epilogue.factor = attributes.scale.scale;
  whole.epilogue.fixed = FactorOf(attributes.scale);
  whole.epilogue.output = ByteOutputOf(attributes.output);
  ParallelFor(x.Elements() < kSmallWork ? nullptr : call.parallel, x.dims[0] * parts,
              [&](int begin, int end) {
                for (int item = begin; item < end; ++item) {
                  const int64_t image = item / parts;
                  const int first = item % parts * kPartChannels;
                  PoolCall part = whole;
                  part.x = x.As<const uint8_t>() + image * x.strides[0] + first;
                  part.y = y.As<uint8_t>() + image * y.strides[0] + first;
                  part.channels =
                      channels - first < kPartChannels ? channels - first : kPartChannels;
                  routines.sum_pool(part);
                }
              });
  return OkStatus();
}

}  // namespace tenon::cpu::q8
