#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/resize_positions.hpp"

namespace tenon::cpu::portable {
namespace {

/// How one axis is resized, and its strides.
struct Axis : ResizeAxis {
  ptrdiff_t x = 0;
  ptrdiff_t y = 0;
};

Axis AxisOf(const OpCall& call, int axis) {
  return {ResizeAxisOf(call, axis), call.Input(0).strides[axis], call.Output().strides[axis]};
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
  const bool unchanged = axis.IsUnchanged();
  if (unchanged && axis.x == 1 && axis.y == 1) {
    std::memcpy(y, x, static_cast<size_t>(axis.out) * sizeof(Element));
    return;
  }
  for (int o = 0; o < axis.out; ++o) {
    y[o * axis.y] = x[(unchanged ? o : NearestPosition(attributes, axis, o)) * axis.x];
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
        from += NearestPosition(attributes, axis, index % axis.out) * axis.x;
        to += index % axis.out * axis.y;
        index /= axis.out;
      }
      NearestRow(attributes, row_axis, from, to);
    }
  });
}

template <int kTaps>
float Blend(const float* x, const ResizeTaps<kTaps>& rows, const ResizeTaps<kTaps>& columns) {
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
void BlendColumns(const Axis& channel, const Axis& column, const float* x,
                  const ResizeTaps<kTaps>& rows, const ResizeTaps<kTaps>* columns, int count,
                  float* y) {
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
      ResizeTaps<kTaps> row_taps;
      FindResizeTaps(attributes, row, o, row.x, row_taps);
      ResizeTaps<kTaps> column_taps[kColumns];
      for (int i = 0; i < columns; ++i) {
        FindResizeTaps(attributes, column, first + i, column.x, column_taps[i]);
      }
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
