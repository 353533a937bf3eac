#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// How one axis is resized.
struct Axis {
  int in = 1;
  int out = 1;
  float scale = 1.0F;
  ptrdiff_t x = 0;  ///< stride in x
  ptrdiff_t y = 0;  ///< stride in y
};

Axis AxisOf(const OpCall& call, int axis) {
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  return {x.dims[axis], y.dims[axis], call.AttributesAs<ResizeAttributes>().scales[axis],
          x.strides[axis], y.strides[axis]};
}

/// Where output position `o` lies in the input. In float, as the field's runtimes compute it, so
/// that ties fall the same way.
float Coordinate(CoordinateMode mode, const Axis& axis, int o) {
  const auto position = static_cast<float>(o);
  switch (mode) {
    case CoordinateMode::kPytorchHalfPixel:
      return axis.out > 1 ? (position + 0.5F) / axis.scale - 0.5F : 0.0F;
    case CoordinateMode::kAlignCorners:
      if (axis.out <= 1) return 0.0F;
      return position * static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1);
    case CoordinateMode::kAsymmetric:
      return position / axis.scale;
    case CoordinateMode::kHalfPixel:
      break;
  }
  return (position + 0.5F) / axis.scale - 0.5F;
}

int Clamp(int value, int low, int high) {
  return value < low ? low : (value > high ? high : value);
}

/// The nearest input position.
int Nearest(const ResizeAttributes& attributes, const Axis& axis, int o) {
  const float coordinate = Coordinate(attributes.coordinates, axis, o);
  const float below = std::floor(coordinate);
  const float fraction = coordinate - below;
  bool up = false;
  switch (attributes.nearest) {
    case NearestMode::kRoundPreferFloor:
      up = fraction > 0.5F;
      break;
    case NearestMode::kRoundPreferCeil:
      up = fraction >= 0.5F;
      break;
    case NearestMode::kFloor:
      break;
    case NearestMode::kCeil:
      up = fraction > 0.0F;
      break;
  }
  return Clamp(static_cast<int>(below) + (up ? 1 : 0), 0, axis.in - 1);
}

/// The axes of a nearest resize, by stride in y, innermost last.
struct NearestPlan {
  int rank = 0;
  Axis axes[kMaxRank];
};

NearestPlan PrepareNearest(const OpCall& call) {
  NearestPlan plan;
  for (int axis = 0; axis < call.Output().rank; ++axis) {
    const Axis added = AxisOf(call, axis);
    int place = plan.rank++;
    for (; place > 0 && plan.axes[place - 1].y < added.y; --place) {
      plan.axes[place] = plan.axes[place - 1];
    }
    plan.axes[place] = added;
  }
  return plan;
}

/// Elements are moved by their size, not by their type.
template <typename Element>
void NearestRow(const ResizeAttributes& attributes, const Axis& axis, const Element* x,
                Element* y) {
  const bool unchanged = axis.in == axis.out && axis.scale == 1.0F;
  if (unchanged && axis.x == 1 && axis.y == 1) {
    std::memcpy(y, x, static_cast<size_t>(axis.out) * sizeof(Element));
    return;
  }
  for (int o = 0; o < axis.out; ++o) {
    y[o * axis.y] = x[(unchanged ? o : Nearest(attributes, axis, o)) * axis.x];
  }
}

template <typename Element>
void ResizeNearest(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<ResizeAttributes>();
  const TensorView& y = call.op.Output();
  const NearestPlan plan = PrepareNearest(call.op);
  const Axis row_axis = plan.rank == 0 ? Axis{} : plan.axes[plan.rank - 1];
  const auto rows = static_cast<int>(y.Elements() / row_axis.out);
  ParallelForWork(call.parallel, rows, row_axis.out, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      const auto* from = call.op.Input(0).As<const Element>();
      auto* to = y.As<Element>();
      int index = row;
      for (int i = plan.rank - 2; i >= 0; --i) {
        const Axis& axis = plan.axes[i];
        from += Nearest(attributes, axis, index % axis.out) * axis.x;
        to += index % axis.out * axis.y;
        index /= axis.out;
      }
      NearestRow(attributes, row_axis, from, to);
    }
  });
}

/// The input positions that one output position is made of, as offsets, and their weights.
template <int kTaps>
struct Taps {
  ptrdiff_t offset[kTaps];
  float weight[kTaps];
};

void FindTaps(const ResizeAttributes& attributes, const Axis& axis, int o, Taps<2>& taps) {
  // Beyond the edges lie the edges' own values, so that the coordinate may as well stop there.
  const auto last = static_cast<float>(axis.in - 1);
  float coordinate = Coordinate(attributes.coordinates, axis, o);
  coordinate = coordinate < 0.0F ? 0.0F : (coordinate > last ? last : coordinate);
  const auto below = static_cast<int>(coordinate);
  const float fraction = coordinate - static_cast<float>(below);
  taps.offset[0] = below * axis.x;
  taps.offset[1] = Clamp(below + 1, 0, axis.in - 1) * axis.x;
  taps.weight[0] = 1.0F - fraction;
  taps.weight[1] = fraction;
}

/// Cubic convolution (Keys, 1981) with the parameter `cubic_a`.
void FindTaps(const ResizeAttributes& attributes, const Axis& axis, int o, Taps<4>& taps) {
  const float a = attributes.cubic_a;
  const float coordinate = Coordinate(attributes.coordinates, axis, o);
  const float floor = std::floor(coordinate);
  const auto below = static_cast<int>(floor);
  const float t = coordinate - floor;
  const float s = 1.0F - t;
  taps.weight[0] = ((a * (t + 1.0F) - 5.0F * a) * (t + 1.0F) + 8.0F * a) * (t + 1.0F) - 4.0F * a;
  taps.weight[1] = ((a + 2.0F) * t - (a + 3.0F)) * t * t + 1.0F;
  taps.weight[2] = ((a + 2.0F) * s - (a + 3.0F)) * s * s + 1.0F;
  taps.weight[3] = ((a * (s + 1.0F) - 5.0F * a) * (s + 1.0F) + 8.0F * a) * (s + 1.0F) - 4.0F * a;
  float sum = 0.0F;
  for (int i = 0; i < 4; ++i) {
    const int position = below - 1 + i;
    const bool outside = position < 0 || position >= axis.in;
    if (outside && attributes.exclude_outside != 0) taps.weight[i] = 0.0F;
    sum += taps.weight[i];
    taps.offset[i] = Clamp(position, 0, axis.in - 1) * axis.x;
  }
  if (attributes.exclude_outside == 0) return;
  for (float& weight : taps.weight) weight /= sum;
}

template <int kTaps>
float Blend(const float* x, const Taps<kTaps>& rows, const Taps<kTaps>& columns) {
  float sum = 0.0F;
  for (int i = 0; i < kTaps; ++i) {
    float row = 0.0F;
    for (int j = 0; j < kTaps; ++j) {
      row += columns.weight[j] * x[rows.offset[i] + columns.offset[j]];
    }
    sum += rows.weight[i] * row;
  }
  return sum;
}

/// All channels of a block of columns of one output row.
template <int kTaps>
void BlendColumns(const Axis& channel, const Axis& column, const float* x, const Taps<kTaps>& rows,
                  const Taps<kTaps>* columns, int count, float* y) {
  if (channel.x == 1 && channel.y == 1) {
    for (int i = 0; i < count; ++i, y += column.y) {
      for (int c = 0; c < channel.out; ++c) y[c] = Blend(x + c, rows, columns[i]);
    }
    return;
  }
  for (int c = 0; c < channel.out; ++c) {
    for (int i = 0; i < count; ++i) {
      y[c * channel.y + i * column.y] = Blend(x + c * channel.x, rows, columns[i]);
    }
  }
}

template <int kTaps>
void Interpolate(const KernelCall& call) {
  constexpr int kColumns = 16;  // whose taps are kept on the stack for all channels
  const auto& attributes = call.op.AttributesAs<ResizeAttributes>();
  const Axis image = AxisOf(call.op, 0);
  const Axis channel = AxisOf(call.op, 1);
  const Axis row = AxisOf(call.op, 2);
  const Axis column = AxisOf(call.op, 3);
  const int blocks = (column.out + kColumns - 1) / kColumns;
  const int64_t work = int64_t{kColumns} * channel.out * kTaps * kTaps;
  const int count = image.out * row.out * blocks;
  ParallelForWork(call.parallel, count, work, [&](int begin, int end) {
    for (int index = begin; index < end; ++index) {
      const int first = index % blocks * kColumns;
      const int o = index / blocks % row.out;
      const int n = index / blocks / row.out;
      const int columns = column.out - first < kColumns ? column.out - first : kColumns;
      Taps<kTaps> row_taps;
      FindTaps(attributes, row, o, row_taps);
      Taps<kTaps> column_taps[kColumns];
      for (int i = 0; i < columns; ++i) FindTaps(attributes, column, first + i, column_taps[i]);
      BlendColumns(channel, column, call.op.Input(0).As<const float>() + n * image.x, row_taps,
                   column_taps, columns,
                   call.op.Output().As<float>() + n * image.y + o * row.y + first * column.y);
    }
  });
}

void ResizeNearestBySize(const KernelCall& call) {
  switch (DTypeBytes(call.op.Input(0).dtype)) {
    case 1:
      return ResizeNearest<uint8_t>(call);
    case 2:
      return ResizeNearest<uint16_t>(call);
    case 4:
      return ResizeNearest<uint32_t>(call);
    default:
      return ResizeNearest<uint64_t>(call);
  }
}

}  // namespace

Status ResizeCheck(const KernelSetup& setup) { return CheckResult(ResizeSupports(setup.op)); }

Status ResizeRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  switch (call.op.AttributesAs<ResizeAttributes>().mode) {
    case ResizeMode::kNearest:
      ResizeNearestBySize(call);
      break;
    case ResizeMode::kLinear:
      Interpolate<2>(call);
      break;
    case ResizeMode::kCubic:
      Interpolate<4>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
