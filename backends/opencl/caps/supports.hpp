// The ops that the kernels run: the converter (through opencl_caps.hpp) and the kernels' own checks
// call these predicates, so that the two cannot disagree.
//
// Each returns null for yes, else the reason as a constant text. They read dims, dtypes,
// attributes and whether inputs are constant, of operands that passed CheckOpCall; never strides.
#pragma once

#include <cstddef>

#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

[[nodiscard]] const char* UnarySupports(const OpCall& call);
[[nodiscard]] const char* BinarySupports(const OpCall& call);
[[nodiscard]] const char* SelectSupports(const OpCall& call);
[[nodiscard]] const char* PoolSupports(const OpCall& call);
/// Accepts f32, i8 and u8.
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* ReduceSupports(const OpCall& call);
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* LayerNormSupports(const OpCall& call);
[[nodiscard]] const char* LrnSupports(const OpCall& call);
/// Accepts concat, slice, transpose, expand, reshape and copy of any dtype.
[[nodiscard]] const char* MoveSupports(const OpCall& call);
[[nodiscard]] const char* PadSupports(const OpCall& call);
/// Accepts f32; of the nearest element every dtype.
[[nodiscard]] const char* ResizeSupports(const OpCall& call);
[[nodiscard]] const char* GridSampleSupports(const OpCall& call);
/// Accepts gathers along constant indices.
[[nodiscard]] const char* GatherSupports(const OpCall& call);
/// Accepts scatters along constant indices: of every dtype where they replace, else f32.
[[nodiscard]] const char* ScatterSupports(const OpCall& call);
/// Accepts f32: the first of lines of any length, several of short ones.
[[nodiscard]] const char* TopKSupports(const OpCall& call);
[[nodiscard]] const char* CastSupports(const OpCall& call);

/// Is KernelCaps::packed_bytes: constant inputs in the plan's form, and the kernel's tables.
[[nodiscard]] size_t HeldConstants(const OpCall& call);
[[nodiscard]] size_t GatherHeld(const OpCall& call);
[[nodiscard]] size_t ScatterHeld(const OpCall& call);
[[nodiscard]] size_t ResizeHeld(const OpCall& call);

}  // namespace tenon::opencl
