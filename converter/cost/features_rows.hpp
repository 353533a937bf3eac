// Rows of operands as kernels that go along them see them, for the terms of such kernels.
#pragma once

#include "converter/cost/features_kernels.hpp"
#include "runtime/base/loop_nest.hpp"

namespace tenon::converter::features {

inline constexpr int kMostOperands = 3;

/// Describes the loops of a kernel, with strides in elements.
using Nest = LoopNest<kMostOperands>;

inline double RowOf(const Nest& nest) { return static_cast<double>(nest.RowLength()); }

/// A row of one element is contiguous.
inline int64_t RowStride(const Nest& nest, int operand) {
  return nest.rank == 0 ? 1 : nest.RowStride(operand);
}

/// Returns the name of the op's function, or mode: ops of each are a model of their own.
[[nodiscard]] const char* FunctionName(const ProfileOperands& operands);

}  // namespace tenon::converter::features
