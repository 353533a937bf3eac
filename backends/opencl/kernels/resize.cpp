#include <vector>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/resize_positions.hpp"

namespace tenon::opencl {
namespace {

bool IsNearest(const OpCall& op) {
  return op.AttributesAs<ResizeAttributes>().mode == ResizeMode::kNearest;
}

/// The axes of a nearest resize by stride in y, innermost last, at the end of four loops.
struct Axes {
  int rank = 0;
  int order[4] = {};
};

Axes AxesOf(const TensorView& y) {
  Axes axes;
  for (int k = 0; k < y.rank; ++k) {
    int place = axes.rank++;
    for (; place > 0 && y.strides[axes.order[place - 1]] < y.strides[k]; --place) {
      axes.order[place] = axes.order[place - 1];
    }
    axes.order[place] = k;
  }
  return axes;
}

/// Of each loop, the offsets in x of its positions; a loop that is none has one, 0.
struct NearestTable {
  std::vector<int32_t> offsets;
  Int4 starts;
  Int4 dims = {{1, 1, 1, 1}};
  Int4 y_strides;
  bool is_even = false;
};

NearestTable MakeNearestTable(const OpCall& op, bool with_offsets) {
  const auto& attributes = op.AttributesAs<ResizeAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  const Axes axes = AxesOf(y);
  NearestTable table;
  int32_t start = 0;
  for (int loop = 0; loop < 4; ++loop) {
    table.starts.v[loop] = start;
    const int at = loop - (4 - axes.rank);
    if (at < 0) {
      if (with_offsets) table.offsets.push_back(0);
      ++start;
      continue;
    }
    const int k = axes.order[at];
    const ResizeAxis axis = ResizeAxisOf(op, k);
    table.dims.v[loop] = y.dims[k];
    table.y_strides.v[loop] = y.strides[k];
    if (loop == 3) table.is_even = axis.IsUnchanged() && x.strides[k] == 1;
    for (int o = 0; with_offsets && o < axis.out; ++o) {
      const int position = axis.IsUnchanged() ? o : NearestPosition(attributes, axis, o);
      table.offsets.push_back(position * x.strides[k]);
    }
    start += axis.out;
  }
  return table;
}

Status LoadNearest(const KernelSetup& setup, void** shared) {
  const NearestTable table = MakeNearestTable(setup.op, true);
  LoadedOp* loaded = nullptr;
  TENON_RETURN_IF_ERROR(LoadOp(setup, NearestResizeProgram(setup.op), &loaded));
  return AddTable(loaded, table.offsets.data(), table.offsets.size() * sizeof(int32_t), shared);
}

Status RunNearest(const KernelCall& call) {
  const NearestTable table = MakeNearestTable(call.op, false);
  const auto& loaded = *static_cast<const OpenedOp*>(call.state)->loaded;
  const RowLaunch rows(call);
  size_t work_items = static_cast<size_t>((table.dims.v[3] + rows.piece - 1) / rows.piece);
  for (int loop = 0; loop < 3; ++loop) work_items *= static_cast<size_t>(table.dims.v[loop]);
  return Launch(call)
      .Output()
      .Input(0)
      .Buffer(loaded.tables[0])
      .Value(table.starts)
      .Value(table.dims)
      .Value(table.y_strides)
      .Value(int32_t{table.is_even ? 1 : 0})
      .Enqueue(work_items, rows.group);
}

template <int kTaps>
Status LoadBlend(const KernelSetup& setup, void** shared) {
  const auto& attributes = setup.op.AttributesAs<ResizeAttributes>();
  std::vector<int32_t> offsets;
  std::vector<float> weights;
  for (int k = 2; k < 4; ++k) {
    const ResizeAxis axis = ResizeAxisOf(setup.op, k);
    for (int o = 0; o < axis.out; ++o) {
      ImageTaps<kTaps> taps;
      FindResizeTaps(attributes, axis, o, setup.op.Input(0).strides[k], taps);
      for (int i = 0; i < kTaps; ++i) {
        offsets.push_back(static_cast<int32_t>(taps.offset[i]));
        weights.push_back(taps.weight[i]);
      }
    }
  }
  LoadedOp* loaded = nullptr;
  TENON_RETURN_IF_ERROR(
      LoadOp(setup, {"resize.cl", "-DTAPS=" + std::to_string(kTaps), "resize_blend"}, &loaded));
  const size_t bytes = offsets.size() * sizeof(int32_t);
  TENON_RETURN_IF_ERROR(AddTable(loaded, offsets.data(), bytes, shared));
  return AddTable(loaded, weights.data(), bytes, shared);
}

Status RunBlend(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const auto& loaded = *static_cast<const OpenedOp*>(call.state)->loaded;
  const int vector = static_cast<CommandQueue*>(call.queue)->device().traits().vector_floats;
  const auto positions = static_cast<size_t>(y.dims[0]) * static_cast<size_t>(y.dims[2]) *
                         static_cast<size_t>(y.dims[3]);
  return Launch(call)
      .Output()
      .Input(0)
      .Buffer(loaded.tables[0])
      .Buffer(loaded.tables[1])
      .Value(Four(y.dims))
      .Value(Four(y.strides))
      .Value(Four(x.strides))
      .Enqueue(positions * static_cast<size_t>((y.dims[1] + vector - 1) / vector), kRowGroup);
}

}  // namespace

Status ResizeLoad(const KernelSetup& setup, void** shared) {
  if (IsNearest(setup.op)) return LoadNearest(setup, shared);
  const bool cubic = setup.op.AttributesAs<ResizeAttributes>().mode == ResizeMode::kCubic;
  return cubic ? LoadBlend<4>(setup, shared) : LoadBlend<2>(setup, shared);
}

Status ResizeRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  return IsNearest(call.op) ? RunNearest(call) : RunBlend(call);
}

}  // namespace tenon::opencl
