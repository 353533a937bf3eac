// The predicates and sizes of the fast quantized convolution and matrix product.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon::cpu::q8 {

/// Is the largest number of kernel taps of one pixel: their offsets are on the stack.
inline constexpr int kMostTaps = 512;
/// Limits the rows of the input that are copied to the stack, with their padding, unless the kernel
/// is 1x1.
inline constexpr int kMostBandBytes = 48 * 1024;
/// Is the number of bytes that a step reads at once: fewer channels are taken only where they are
/// copied.
inline constexpr int kFewestDirectChannels = kDepthStep;

/// These return null for yes, else the reason. They read dims, dtypes, attributes, and which inputs
/// are constant.
[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
/// Of products whose second factor is no constant: it is packed whenever they run.
[[nodiscard]] const char* PackingMatMulSupports(const OpCall& call);

/// Of products whose first factor gets its range at run time.
[[nodiscard]] const char* DynamicMatMulSupports(const OpCall& call);

/// The product of bytes inside of a dynamic one, as a quantized product that gives its sums: only
/// its dtypes, weights and their zero points can be read.
class InnerProduct {
 public:
  explicit InnerProduct(const OpCall& dynamic);
  InnerProduct(const InnerProduct&) = delete;
  InnerProduct& operator=(const InnerProduct&) = delete;
  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  QuantizedMatMulAttributes attributes_;
  TensorView tensors_[4];
  int32_t ids_[8];
  int32_t output_ = 3;
  OpCall call_;
};

/// Returns true if the convolution is 1x1 without padding, so that it reads each pixel once, in
/// place.
[[nodiscard]] bool IsDirect(const OpCall& conv);

/// Returns how many columns of the convolution's window are one tap: all, where the pixels of a
/// kernel row are contiguous, else one.
[[nodiscard]] int64_t ColumnsOfTap(const OpCall& conv);

/// Is the largest number of i8 tensors whose sum can be the weights less their zero points, where
/// these exceed i8. Each tensor is multiplied in a pass of its own. The weights are constant, and
/// their output channels run along `output_axis`.
inline constexpr int kMostPasses = 3;
[[nodiscard]] int WeightPasses(const OpCall& call, int output_axis);
[[nodiscard]] int MatMulOutputAxis(const OpCall& call);
/// Does likewise for weights of any bytes, which have one zero point or none.
[[nodiscard]] int MostWeightPasses(const OpCall& call);

/// Is the workspace of a product that packs its second factor: `batches` parts of `stride` bytes,
/// each with descriptors of groups of channels, a bias for each place, and packed weights, all from
/// the first multiple of `kLineBytes` on.
inline constexpr int64_t kLineBytes = 64;
struct PackingWorkspace {
  int64_t batches;
  int64_t bias_offset;
  int64_t weights_offset;
  int64_t stride;
};
[[nodiscard]] PackingWorkspace PackingWorkspaceOf(const OpCall& call);
/// Is KernelCaps::workspace_bytes.
[[nodiscard]] size_t PackingMatMulWorkspace(const OpCall& call, int threads);

/// Is KernelCaps::packing_key: what the packed weights depend on.
void ConvPackingKey(const OpCall& call, PackingKey* key);
void MatMulPackingKey(const OpCall& call, PackingKey* key);
void DynamicMatMulPackingKey(const OpCall& call, PackingKey* key);

/// Is KernelCaps::packed_bytes.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t PackingMatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t DynamicMatMulPackedBytes(const OpCall& call);

/// Is KernelCaps::workspace_bytes: the first factor as bytes, from the first line on.
[[nodiscard]] size_t DynamicMatMulWorkspace(const OpCall& call, int threads);

}  // namespace tenon::cpu::q8
