// Presents the operands of one op as kernels see them, including strides, from a graph or from a
// plan. Signatures and cost features are computed from them, so that both sources agree.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

/// Describes one op with its kernel. Borrows constants from the graph or plan it was made from.
class ProfileOperands {
 public:
  /// Strides come from `locations`; without them, tensors are dense in their layout.
  ProfileOperands(const Graph& graph, const Op& op, const Locations* locations);
  /// Describes op `index` of a program that has passed the plan check.
  ProfileOperands(const PlanView& plan, const ProgramView& program, size_t index);
  ProfileOperands(const ProfileOperands&) = delete;
  ProfileOperands& operator=(const ProfileOperands&) = delete;

  [[nodiscard]] const OpCall& call() const { return call_; }
  [[nodiscard]] OpKind kind() const { return kind_; }
  /// Returns the kernel's id: an op's speed is that of the variant that was chosen for it.
  [[nodiscard]] const std::string& kernel() const { return kernel_; }

 private:
  void Add(const Shape& shape, DType dtype, std::vector<int32_t> strides, const void* data);
  void Finish(std::vector<int32_t> attributes);

  std::vector<TensorView> views_;
  std::deque<Shape> dims_;
  std::deque<std::vector<int32_t>> strides_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
  std::vector<int32_t> attributes_;
  OpCall call_;
  OpKind kind_ = OpKind::kCopy;
  std::string kernel_;
};

/// Writes the op as canonical text, which is the same for ops that take the same time, whatever
/// their names are.
///   conv cpu.conv.vector (f32[1,32,56,56]:last, f32[64,32,1,1], f32[64]) -> f32[1,64,56,56]:last
///   {activation=1} threads=1
/// The text is one line. If a tensor is not constant and not row-major, its layout follows the
/// shape: "last" (channels last), "gaps" or "last-gaps" (the same with gaps between), "strided"
/// (anything else). Absent operands are `_`. Attributes are their words, named, where they differ
/// from the defaults; scales, zero points and bounds of quantized ops are left out. A power's
/// constant exponent is an attribute too, as kernels treat it so.
[[nodiscard]] std::string ProfileSignature(const ProfileOperands& operands, int threads);

/// Removes the layouts: the rest stays the same when tensors become views or cease to be.
[[nodiscard]] std::string WithoutStrides(const std::string& signature);

/// Removes the kernel: the rest is equal for one op on several backends.
[[nodiscard]] std::string WithoutKernel(const std::string& signature);

/// Returns the exponent of a power whose second operand is one constant f32; otherwise null.
[[nodiscard]] const float* ConstantExponent(const OpCall& call, OpKind kind);

}  // namespace tenon::converter
