#include <cstring>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// How one dimension of y maps to x: index i of y shows index i - begin of x, if that is among the
/// elements [first, last] that stay.
struct Dimension {
  int32_t size = 1;  ///< of y
  int32_t y_stride = 0;
  int32_t x_stride = 0;
  int32_t begin = 0;
  int32_t first = 0;
  int32_t last = 0;

  [[nodiscard]] bool IsPadded() const { return first + begin != 0 || last + begin != size - 1; }
};

/// Dimensions in the order of y's memory, innermost last.
struct PadPlan {
  int rank = 0;
  Dimension dims[kMaxRank];

  void Insert(const Dimension& added) {
    int place = rank++;
    for (; place > 0 && dims[place - 1].y_stride < added.y_stride; --place) {
      dims[place] = dims[place - 1];
    }
    dims[place] = added;
  }

  /// Merges the innermost dimension into its neighbour while nothing pads it and both sides pass
  /// evenly: channels-last images then have rows of width times channels.
  void MergeInnermost(PadMode mode) {
    while (rank >= 2) {
      Dimension& outer = dims[rank - 2];
      const Dimension& inner = dims[rank - 1];
      const bool evenly = outer.y_stride == inner.y_stride * inner.size &&
                          outer.x_stride == inner.x_stride * inner.size;
      if (inner.begin != 0 || inner.IsPadded() || !evenly) return;
      if (mode != PadMode::kConstant && outer.IsPadded()) return;
      outer.first *= inner.size;
      outer.last = (outer.last + 1) * inner.size - 1;
      outer.begin *= inner.size;
      outer.size *= inner.size;
      outer.y_stride = inner.y_stride;
      outer.x_stride = inner.x_stride;
      --rank;
    }
  }
};

PadPlan MakePadPlan(const OpCall& op) {
  const auto& attributes = op.AttributesAs<PadAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  PadPlan plan;
  for (int k = 0; k < y.rank; ++k) {
    const int32_t begin = attributes.begins[k];
    const int32_t end = attributes.ends[k];
    const int32_t first = begin < 0 ? -begin : 0;
    const int32_t last = x.dims[k] - 1 + (end < 0 ? end : 0);
    plan.Insert({y.dims[k], y.strides[k], x.strides[k], begin, first, last});
  }
  plan.MergeInnermost(attributes.mode);
  return plan;
}

/// The bits of a value of `dtype`, exactly representable there unless that is a float.
uint64_t ElementBits(float value, DType dtype) {
  uint64_t bits = 0;
  if (dtype == DType::kF64) {
    const auto wide = static_cast<double>(value);
    std::memcpy(&bits, &wide, sizeof(wide));
  } else if (dtype == DType::kF32) {
    std::memcpy(&bits, &value, sizeof(value));
  } else if (dtype == DType::kU64) {
    bits = static_cast<uint64_t>(value);
  } else {
    bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  return bits;
}

}  // namespace

ProgramChoice PadChoice(const KernelSetup& setup) {
  const auto mode = static_cast<int>(setup.op.AttributesAs<PadAttributes>().mode);
  return {"pad.cl", WordOption(setup.op.Output()) + " -DMODE=" + std::to_string(mode), "pad"};
}

Status PadRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const PadPlan plan = MakePadPlan(call.op);
  Int4 dims = {{1, 1, 1, 1}};
  Int4 y_strides;
  Int4 x_strides;
  Int4 begin;
  Int4 first;
  Int4 last;
  size_t rows = 1;
  for (int k = 0; k < plan.rank; ++k) {
    const Dimension& dim = plan.dims[k];
    const int at = 4 - plan.rank + k;
    dims.v[at] = dim.size;
    y_strides.v[at] = dim.y_stride;
    x_strides.v[at] = dim.x_stride;
    begin.v[at] = dim.begin;
    first.v[at] = dim.first;
    last.v[at] = dim.last;
    if (at < 3) rows *= static_cast<size_t>(dim.size);
  }
  const RowLaunch launch(call);
  const auto pieces = static_cast<size_t>((dims.v[3] + launch.piece - 1) / launch.piece);
  return Launch(call)
      .Output()
      .Input(0)
      .Value(dims)
      .Value(y_strides)
      .Value(x_strides)
      .Value(begin)
      .Value(first)
      .Value(last)
      .Value(ElementBits(call.op.AttributesAs<PadAttributes>().value, y.dtype))
      .Enqueue(rows * pieces, launch.group);
}

}  // namespace tenon::opencl
