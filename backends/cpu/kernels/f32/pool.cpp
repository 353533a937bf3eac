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
  bool by_rows;     ///< see RowMaxima
  bool whole_rows;  ///< windows are one pixel wide, each row of x gives a row of y
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
  const PoolAxis& horizontal = pooling.axes[1];
  pooling.by_rows = false;
  pooling.whole_rows = pooling.parts == 1 && horizontal.kernel == 1 && horizontal.stride == 1 &&
                       pooling.out_width == horizontal.input && horizontal.pad_begin == 0 &&
                       pooling.x_strides.pixel == pooling.channels &&
                       pooling.y_strides.pixel == pooling.channels;
  pooling.include_padding = op.AttributesAs<PoolAttributes>().count_include_pad != 0;
  return pooling;
}

/// Maxima of images of so few channels that one pixel fills no vector: the elements of a whole row
/// are the lanes. The maxima of columns come first, those of neighbours in what these leave next.
class RowMaxima {
 public:
  [[nodiscard]] static bool Suits(const Pooling& pooling) {
    const int64_t window = (pooling.axes[1].kernel - 1) * pooling.axes[1].dilation + 1;
    return pooling.channels <= kMostRowMaximaChannels &&
           pooling.x_strides.pixel == pooling.channels &&
           pooling.y_strides.pixel == pooling.channels && window <= kMostPixels / 2;
  }

  RowMaxima(const Pooling& pooling, int item) : pooling_(pooling), axis_(pooling.axes[1]) {
    const int row = item % pooling.out_height;
    const int image = item / pooling.out_height;
    rows_ = WindowOf(pooling.axes[0], row);
    x_ = pooling.x + image * pooling.x_strides.image + rows_.first * pooling.x_strides.row;
    y_ = pooling.y + image * pooling.y_strides.image + row * pooling.y_strides.row;
  }

  void Run() {
    int end = 0;
    for (int column = 0; column < pooling_.out_width; column = end) {
      // No tap of this window or of one behind it lies before here.
      first_ = column * axis_.stride - axis_.pad_begin;
      if (first_ < 0) first_ = 0;
      int64_t pixels = 0;
      for (end = column; end < pooling_.out_width; ++end) {
        const Window window = WindowOf(axis_, end);
        const int64_t needed = window.first + (window.taps - 1) * axis_.dilation + 1 - first_;
        if (window.taps == 0) continue;
        if (needed > kMostPixels) break;
        if (needed > pixels) pixels = needed;
      }
      if (pixels > 0) Vertical(first_, pixels, columns_);
      Horizontal(column, end);
    }
  }

 private:
  static constexpr int kMostPixels = 512;

  void Vertical(int64_t pixel, int64_t pixels, float* to) const {
    PoolCall call = {};
    call.x = x_ + pixel * pooling_.channels;
    call.y = to;
    call.row_step = pooling_.axes[0].dilation * pooling_.x_strides.row;
    call.rows = rows_.taps;
    call.columns = 1;
    call.channels = static_cast<int>(pixels) * pooling_.channels;
    pooling_.routine(call);
  }

  void Horizontal(int column, int end) const {
    const int channels = pooling_.channels;
    while (column < end) {
      const Window window = WindowOf(axis_, column);
      const float* x = columns_ + (window.first - first_) * channels;
      float* y = y_ + int64_t{column} * channels;
      int same = 1;
      if (axis_.stride == 1 && window.taps == axis_.kernel) {
        while (column + same < end && WindowOf(axis_, column + same).taps == window.taps) ++same;
        PoolCall call = {};
        call.x = x;
        call.y = y;
        call.row_step = axis_.dilation * channels;
        call.rows = window.taps;
        call.columns = 1;
        call.channels = same * channels;
        pooling_.routine(call);
      } else {
        for (int c = 0; c < channels; ++c) y[c] = LargestOf(x + c, window.taps);
      }
      column += same;
    }
  }

  /// NaN is larger than every number, as in the routine.
  [[nodiscard]] float LargestOf(const float* x, int taps) const {
    const int64_t step = axis_.dilation * pooling_.channels;
    float best = -__builtin_inff();
    for (int j = 0; j < taps; ++j) {
      const float value = x[j * step];
      if (value > best || value != value) best = value;
      if (best != best) return best;
    }
    return best;
  }

  const Pooling& pooling_;
  const PoolAxis& axis_;
  Window rows_ = {};
  const float* x_ = nullptr;
  float* y_ = nullptr;
  int64_t first_ = 0;  ///< the pixel that `columns_` begins with
  float columns_[kMostPixels * kMostRowMaximaChannels];
};

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
  if (pooling.whole_rows) {
    call.x = x;
    call.columns = 1;
    call.channels = pooling.out_width * pooling.channels;
    call.divisor = static_cast<float>(counted_rows);
    return pooling.routine(call);
  }
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

Status PoolRun(const KernelCall& call, PoolRoutine routine, bool is_max) {
  Pooling pooling = PoolingOf(call.op, routine);
  pooling.by_rows = is_max && !pooling.whole_rows && RowMaxima::Suits(pooling);
  const TensorView& y = call.op.Output();
  int64_t work = y.Elements();
  for (const PoolAxis& axis : pooling.axes) {
    work *= axis.kernel < axis.input ? axis.kernel : axis.input;
  }
  ParallelFor(work < kSmallWork ? nullptr : call.parallel,
              y.dims[0] * pooling.out_height * pooling.parts, [&](int begin, int end) {
                for (int item = begin; item < end; ++item) {
                  if (pooling.by_rows) {
                    RowMaxima(pooling, item).Run();
                  } else {
                    RunItem(pooling, item);
                  }
                }
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
  return PoolRun(call, static_cast<const Routines*>(call.state)->max_pool, /*is_max=*/true);
}

Status AveragePoolCheck(const KernelSetup& setup) { return PoolCheck(setup); }

Status AveragePoolRun(const KernelCall& call) {
  return PoolRun(call, static_cast<const Routines*>(call.state)->average_pool, /*is_max=*/false);
}

}  // namespace tenon::cpu::f32
