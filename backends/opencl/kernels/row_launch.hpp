// Launches the kernels that work by rows (strides in elements).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/base/loop_nest.hpp"

namespace tenon::opencl {

/// Contains the innermost four loops of a nest, as the kernels take them (see FindRowPart in
/// prelude.cl).
template <int N>
struct RowLoops {
  Int4 dims;
  Int4 strides[N];

  explicit RowLoops(const LoopNest<N>& nest) {
    for (int32_t& dim : dims.v) dim = 1;
    for (int k = 0; k < 4 && k < nest.rank; ++k) {
      dims.v[3 - k] = nest.dims[nest.rank - 1 - k];
      for (int i = 0; i < N; ++i)
        strides[i].v[3 - k] = static_cast<int32_t>(nest.strides[i][nest.rank - 1 - k]);
    }
    // For a row of one element, any dimension will do.
    if (nest.rank == 0) {
      for (int i = 0; i < N; ++i) strides[i].v[3] = 1;
    }
  }

  /// Returns the positions of all four loops.
  [[nodiscard]] size_t Positions() const { return WorkItems(1); }

  /// Returns the work-items that do `piece` elements of a row each.
  [[nodiscard]] size_t WorkItems(int piece) const {
    const auto rows = static_cast<size_t>(dims.v[0]) * static_cast<size_t>(dims.v[1]) *
                      static_cast<size_t>(dims.v[2]);
    return rows * static_cast<size_t>((dims.v[3] + piece - 1) / piece);
  }
};

/// Calls `body(offsets)` for every position of the loops outside the innermost four: `offsets[i]`
/// is where operand i then starts, in elements. For nearly every op, that is once. `body` returns a
/// Status; the first error ends it.
template <int N, typename Body>
Status ForEachLaunch(const LoopNest<N>& nest, const Body& body) {
  const int outer = nest.rank > 4 ? nest.rank - 4 : 0;
  int32_t index[kMaxLoopRank] = {};
  int64_t offsets[N] = {};
  for (;;) {
    TENON_RETURN_IF_ERROR(body(offsets));
    int k = outer - 1;
    for (; k >= 0; --k) {
      for (int i = 0; i < N; ++i) offsets[i] += nest.strides[i][k];
      if (++index[k] < nest.dims[k]) break;
      for (int i = 0; i < N; ++i) offsets[i] -= nest.strides[i][k] * nest.dims[k];
      index[k] = 0;
    }
    if (k < 0) return OkStatus();
  }
}

/// Sets the operands of a kernel that takes output 0, input 0 and the loops over their rows, at the
/// offsets of one launch (ForEachLaunch). What else it takes comes behind them.
inline Launch& TakeRows(Launch& launch, const RowLoops<2>& loops, const int64_t (&offsets)[2]) {
  return launch.From(0)
      .Output(0, offsets[0])
      .Input(0, offsets[1])
      .Value(loops.dims)
      .Value(loops.strides[0])
      .Value(loops.strides[1]);
}

/// Is the work-group size of kernels whose work-items do one vector each. There are few sizes in
/// all, since some drivers compile a kernel anew for each size with which it is first launched.
inline constexpr size_t kRowGroup = 64;
/// Is the same where a work-item has much to do.
inline constexpr size_t kSmallGroup = 4;

/// Work-items that share a row of `count` elements which is reduced, on the device that an op is
/// loaded for: 1 where each does rows of its own.
[[nodiscard]] inline int RowGroup(const void* device, int64_t count) {
  const int items = static_cast<const Device*>(device)->traits().row_group;
  // Of short rows most would have nothing to do.
  return count >= items / 2 ? items : 1;
}

/// The program of rows that work-groups share where the device has such: `choice` with the function
/// `shared` in place of its own.
[[nodiscard]] inline ProgramChoice ForRowGroup(const KernelSetup& setup, int64_t count,
                                               ProgramChoice choice, const char* shared) {
  const int items = RowGroup(setup.device, count);
  if (items == 1) return choice;
  choice.options += " -DGROUP=" + std::to_string(items);
  choice.function = shared;
  return choice;
}

/// Launches `rows` rows of `count` elements, as ForRowGroup has chosen. Among merged ops, which
/// have a program of their own, each work-item does a row.
inline Status EnqueueRows(const KernelCall& call, Launch& launch, size_t rows, int64_t count) {
  auto& queue = *static_cast<CommandQueue*>(call.queue);
  const auto items = static_cast<size_t>(RowGroup(&queue.device(), count));
  if (items == 1 || queue.group() != nullptr) return launch.Enqueue(rows, kSmallGroup);
  return launch.EnqueueTogether(rows * items, items);
}

/// Says how kernels that work by rows (FindRowPart in prelude.cl) are launched on a call's device.
struct RowLaunch {
  int piece;     ///< elements of one work-item
  size_t group;  ///< work-items of one group

  explicit RowLaunch(const KernelCall& call) {
    const DeviceTraits& traits = static_cast<CommandQueue*>(call.queue)->device().traits();
    piece = traits.vector_floats * traits.piece_vectors;
    group = traits.piece_vectors > 1 ? kSmallGroup : kRowGroup;
  }
};

/// Is an operand of a launch by rows.
struct RowOperand {
  int input = -1;                       ///< -1: the output
  int64_t start = 0;                    ///< elements from the operand's first
  const DeviceBuffer* table = nullptr;  ///< in place of both
};

/// Launches the call's function over a nest. Its parameters are a buffer and an offset of each
/// operand, the dims, the strides of each operand, then `extras`.
template <int N, typename... Extras>
Status LaunchRows(const KernelCall& call, const LoopNest<N>& nest, const RowOperand (&operands)[N],
                  const Extras&... extras) {
  const RowLoops<N> loops(nest);
  const RowLaunch rows(call);
  Launch launch(call);
  return ForEachLaunch(nest, [&](const int64_t(&offsets)[N]) {
    launch.From(0);
    for (int i = 0; i < N; ++i) {
      const int64_t start = operands[i].start + offsets[i];
      if (operands[i].table != nullptr) {
        launch.Table(*operands[i].table, start);
      } else if (operands[i].input >= 0) {
        launch.Input(operands[i].input, start);
      } else {
        launch.Output(0, start);
      }
    }
    launch.Value(loops.dims);
    for (const Int4& strides : loops.strides) launch.Value(strides);
    (launch.Value(extras), ...);
    return launch.Enqueue(loops.WorkItems(rows.piece), rows.group);
  });
}

}  // namespace tenon::opencl
