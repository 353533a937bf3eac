// The matrix products that the OpenCL kernels run, and the memory that the kernels need for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon::opencl {

/// Accepts a GEMM of any two factors, also batched, which register tiles compute.
[[nodiscard]] const char* MatMulTileSupports(const OpCall& call);
/// Accepts any f32 GEMM.
[[nodiscard]] const char* MatMulReferenceSupports(const OpCall& call);

[[nodiscard]] size_t MatMulTileHeld(const OpCall& call);
[[nodiscard]] size_t MatMulReferenceHeld(const OpCall& call);
void MatMulPackingKey(const OpCall& call, PackingKey* key);
/// Returns the bytes of the second factor in the order of tiles, where it is no constant.
[[nodiscard]] size_t MatMulWorkspace(const OpCall& call, int threads);

/// Says how a GEMM is cut: into `groups` GEMMs of `rows` x `depth` with `depth` x `columns`.
struct MatMulShape {
  int32_t groups = 1;
  int32_t rows = 0;
  int32_t depth = 0;
  int32_t columns = 0;
  int32_t b_groups = 1;  ///< different second factors: 1, or as many as groups
  bool flat = false;     ///< batches of the first factor are rows of one GEMM
};
[[nodiscard]] MatMulShape MatMulShapeOf(const OpCall& call);

/// Gives the elements from one row, value of depth or group to the next, for row-major operands.
struct MatMulSteps {
  int32_t a_row = 0;
  int32_t a_depth = 1;
  int32_t a_group = 0;
  int32_t bias_row = 0;
  int32_t bias_group = 0;
};
[[nodiscard]] MatMulSteps MatMulStepsOf(const OpCall& call);

/// Returns true if the bias can be packed with the second factor: it is constant, one value per
/// column.
[[nodiscard]] bool MatMulBiasIsPacked(const OpCall& call);

}  // namespace tenon::opencl
