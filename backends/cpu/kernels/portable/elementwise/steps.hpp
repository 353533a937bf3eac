// What the kernels of several elementwise steps share.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/base/loop_nest.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

/// y, x, and the operands of all steps: operand 1 + i of the loops is the op's input i.
inline constexpr int kStepOperands = 2 + kMostElementwiseSteps;

/// Returns the element stride of input `input` along dimension `axis` of y; 0 where it is absent.
[[nodiscard]] inline ptrdiff_t StepStride(const OpCall& op, size_t input, int axis) {
  const auto index = static_cast<int>(input);
  return op.HasInput(index) ? BroadcastStride(op.Input(index), op.Output().rank, axis) : 0;
}

template <size_t... Inputs>
void AddStepLoop(const OpCall& op, int axis, LoopNest<1 + sizeof...(Inputs)>& nest,
                 std::index_sequence<Inputs...> /*inputs*/) {
  const TensorView& y = op.Output();
  nest.Add(y.dims[axis], y.strides[axis], StepStride(op, Inputs, axis)...);
}

/// Returns the loops over the first operands, which must be all that there are, simplified; strides
/// are in elements.
template <int kOperands>
[[nodiscard]] LoopNest<kOperands> StepLoops(const OpCall& op) {
  LoopNest<kOperands> nest;
  for (int axis = 0; axis < op.Output().rank; ++axis) {
    AddStepLoop(op, axis, nest, std::make_index_sequence<kOperands - 1>());
  }
  nest.Simplify();
  return nest;
}

}  // namespace tenon::cpu::portable
