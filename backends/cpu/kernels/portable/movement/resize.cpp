#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/blend.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/base/config.hpp"
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

/// Positions are found once for so many columns, which so many rows share.
constexpr int kColumns = 16;
constexpr int kRows = 16;

/// A range of an axis's outputs, at most kColumns or kRows.
struct Range {
  int first;
  int end;
};

/// Range number `index` of those of `size` outputs.
Range RangeOf(const Axis& axis, int index, int size) {
  const int first = index * size;
  return {first, axis.out - first < size ? axis.out : first + size};
}

/// Copies a few elements, as many as an image has channels.
template <typename Element>
void CopyElements(const Axis& axis, const Element* x, Element* y) {
  constexpr int kFew = 8;
  if (axis.x == 1 && axis.y == 1 && axis.out > kFew) {
    std::memcpy(y, x, static_cast<size_t>(axis.out) * sizeof(Element));
    return;
  }
  for (int o = 0; o < axis.out; ++o) y[o * axis.y] = x[o * axis.x];
}

/// Of the axes of a nearest resize the last three: those behind the innermost one that is resized
/// are one axis, `inside`, whose elements stay together.
struct NearestImage {
  Axis row;
  Axis column;
  Axis inside;
};

template <typename Element>
void NearestRows(const ResizeAttributes& attributes, const NearestImage& image, const Range& rows,
                 const Range& columns, const Element* x, Element* y) {
  ptrdiff_t from[kColumns];
  const int count = columns.end - columns.first;
  for (int i = 0; i < count; ++i) {
    from[i] = NearestPosition(attributes, image.column, columns.first + i) * image.column.x;
  }
  for (int o = rows.first; o < rows.end; ++o) {
    const Element* x_row = x + NearestPosition(attributes, image.row, o) * image.row.x;
    Element* y_row = y + o * image.row.y + columns.first * image.column.y;
    if (image.inside.out == 1) {
      for (int i = 0; i < count; ++i) y_row[i * image.column.y] = x_row[from[i]];
      continue;
    }
    for (int i = 0; i < count; ++i) {
      CopyElements(image.inside, x_row + from[i], y_row + i * image.column.y);
    }
  }
}

/// Takes the last axes out of the plan; where there are none, they have one element.
NearestImage TakeImage(NearestPlan& plan) {
  const auto take = [&] { return plan.rank > 0 ? plan.axes[--plan.rank] : Axis{}; };
  NearestImage image;
  if (plan.rank > 0 && plan.axes[plan.rank - 1].IsUnchanged()) image.inside = take();
  image.column = take();
  image.row = take();
  return image;
}

/// Elements are moved by their size, not by their type.
template <typename Element>
void ResizeNearest(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<ResizeAttributes>();
  NearestPlan plan = PrepareNearest(call.op);
  const NearestImage image = TakeImage(plan);
  const int blocks = (image.column.out + kColumns - 1) / kColumns;
  const int bands = (image.row.out + kRows - 1) / kRows;
  int tasks = blocks * bands;
  for (int i = 0; i < plan.rank; ++i) tasks *= plan.axes[i].out;
  const int64_t work = int64_t{kColumns} * kRows * image.inside.out;
  ParallelForWork(call.parallel, tasks, work, [&](int begin, int end) {
    for (int task = begin; task < end; ++task) {
      const auto* from = call.op.Input(0).As<const Element>();
      auto* to = call.op.Output().As<Element>();
      int index = task / blocks / bands;
      for (int i = plan.rank - 1; i >= 0; --i) {
        const Axis& axis = plan.axes[i];
        from += NearestPosition(attributes, axis, index % axis.out) * axis.x;
        to += index % axis.out * axis.y;
        index /= axis.out;
      }
      NearestRows(attributes, image, RangeOf(image.row, task / blocks % bands, kRows),
                  RangeOf(image.column, task % blocks, kColumns), from, to);
    }
  });
}

/// All channels of a block of columns of one output row.
template <int kTaps>
void BlendColumns(const Axis& channel, const Axis& column, const float* x,
                  const ImageTaps<kTaps>& rows, const ImageTaps<kTaps>* columns, int count,
                  float* y) {
  if (channel.x == 1 && channel.y == 1) {
    for (int i = 0; i < count; ++i, y += column.y) {
      BlendPixel(channel.out, x, rows, columns[i], y);
    }
    return;
  }
  for (int c = 0; c < channel.out; ++c) {
    for (int i = 0; i < count; ++i) {
      y[c * channel.y + i * column.y] = Blend(x + c * channel.x, rows, columns[i]);
    }
  }
}

/// Columns of one output row, made of input rows whose columns have been blended before: neighbours
/// among output rows read the same ones.
template <int kTaps>
class FewChannels {
 public:
  static constexpr int kMost = kHasWorkers ? 16 : 0;  // channels

  [[nodiscard]] static bool Suits(const Axis& channel, const Axis& column) {
    const bool are_dense = channel.out == 1 || (channel.x == 1 && channel.y == 1);
    return channel.out <= kMost && are_dense && column.y == channel.out;
  }

  /// Returns true for channels that lie apart, each of which is an image of one channel then.
  [[nodiscard]] static bool SuitsEach(const Axis& column) { return column.x == 1 && column.y == 1; }

  /// Of images at `x`, `channels` of `count` columns.
  FewChannels(const float* x, int channels, const ImageTaps<kTaps>* columns, int count)
      : x_(x), channels_(channels), columns_(columns), count_(count) {
    for (ptrdiff_t& held : held_) held = PTRDIFF_MIN;
  }

  void Run(const ImageTaps<kTaps>& rows, float* y) {
    const float* blended[kTaps];
    for (int i = 0; i < kTaps; ++i) blended[i] = RowAt(rows.offset[i], rows);
    const int elements = count_ * channels_;
    TENON_INDEPENDENT_LOOP
    for (int e = 0; e < elements; ++e) {
      float sum = 0.0F;
      for (int i = 0; i < kTaps; ++i) sum += rows.weight[i] * blended[i][e];
      y[e] = sum;
    }
  }

 private:
  /// The input row that begins at `offset`, instead of one that `rows` does not read.
  const float* RowAt(ptrdiff_t offset, const ImageTaps<kTaps>& rows) {
    int place = -1;
    for (int i = 0; i < kTaps; ++i) {
      if (held_[i] == offset) return rows_[i];
      bool is_read = false;
      for (int j = 0; j < kTaps; ++j) is_read = is_read || rows.offset[j] == held_[i];
      if (!is_read) place = i;
    }
    held_[place] = offset;
    BlendRow(x_ + offset, rows_[place]);
    return rows_[place];
  }

  void BlendRow(const float* x, float* to) const {
    for (int i = 0; i < count_; ++i, to += channels_) {
      const ImageTaps<kTaps>& taps = columns_[i];
      for (int c = 0; c < channels_; ++c) {
        float sum = 0.0F;
        for (int j = 0; j < kTaps; ++j) sum += taps.weight[j] * x[taps.offset[j] + c];
        to[c] = sum;
      }
    }
  }

  const float* x_;
  int channels_;
  const ImageTaps<kTaps>* columns_;
  int count_;
  ptrdiff_t held_[kTaps];
  float rows_[kTaps][kMost > 0 ? kColumns* kMost : 1];
};

template <int kTaps>
void Interpolate(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<ResizeAttributes>();
  const Axis image = AxisOf(call.op, 0);
  const Axis channel = AxisOf(call.op, 1);
  const Axis row = AxisOf(call.op, 2);
  const Axis column = AxisOf(call.op, 3);
  const int blocks = (column.out + kColumns - 1) / kColumns;
  const int bands = (row.out + kRows - 1) / kRows;
  const int64_t work = int64_t{kColumns} * kRows * channel.out * kTaps * kTaps;
  const bool is_few = FewChannels<kTaps>::Suits(channel, column);
  const bool is_apart = !is_few && FewChannels<kTaps>::SuitsEach(column);
  ParallelForWork(call.parallel, image.out * bands * blocks, work, [&](int begin, int end) {
    for (int index = begin; index < end; ++index) {
      const Range columns = RangeOf(column, index % blocks, kColumns);
      const Range rows = RangeOf(row, index / blocks % bands, kRows);
      const int n = index / blocks / bands;
      ImageTaps<kTaps> column_taps[kColumns];
      for (int i = columns.first; i < columns.end; ++i) {
        FindResizeTaps(attributes, column, i, column.x, column_taps[i - columns.first]);
      }
      const int count = columns.end - columns.first;
      const float* x = call.op.Input(0).As<const float>() + n * image.x;
      float* const y = call.op.Output().As<float>() + n * image.y + columns.first * column.y;
      if constexpr (kHasWorkers) {
        if (is_apart) {
          ImageTaps<kTaps> row_taps[kRows];
          for (int o = rows.first; o < rows.end; ++o) {
            FindResizeTaps(attributes, row, o, row.x, row_taps[o - rows.first]);
          }
          for (int c = 0; c < channel.out; ++c) {
            FewChannels<kTaps> few(x + c * channel.x, 1, column_taps, count);
            for (int o = rows.first; o < rows.end; ++o) {
              few.Run(row_taps[o - rows.first], y + c * channel.y + o * row.y);
            }
          }
          continue;
        }
      }
      FewChannels<kTaps> few(x, channel.out, column_taps, count);
      for (int o = rows.first; o < rows.end; ++o) {
        ImageTaps<kTaps> row_taps;
        FindResizeTaps(attributes, row, o, row.x, row_taps);
        if (is_few) {
          few.Run(row_taps, y + o * row.y);
        } else {
          BlendColumns(channel, column, x, row_taps, column_taps, count, y + o * row.y);
        }
      }
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
