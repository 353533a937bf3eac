// A plan made ready to run: checked, kernels found, weights packed. Read-only once loaded; shared
// by all its sessions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/backend.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// One op with its kernel. The operand spans point into the plan file.
struct BoundOp {
  const KernelEntry* kernel = nullptr;
  void* shared = nullptr;  ///< what the kernel's `load` made, for this op or an equal one
  Span<const int32_t> inputs;
  Span<const int32_t> outputs;
  const void* attributes = nullptr;
  int32_t workspace = -1;
  uint16_t backend = 0;      ///< index into the plan's backends
  bool owns_shared = false;  ///< of the ops with the same `shared`, the one that unloads it
  uint8_t worker = 0;

  [[nodiscard]] OpCall Call(const TensorView* tensors) const {
    return OpCall{tensors, inputs, outputs, attributes};
  }
};

/// Backends that a plan may use at once.
inline constexpr size_t kMaxBackends = 8;
/// More threads than this are a mistake, and thread libraries end the program over it.
inline constexpr int kMostThreads = 1024;

class LoadedPlan {
 public:
  /// Bytes that `Load` needs for the ops of this plan and, for the call's duration, as scratch.
  [[nodiscard]] static size_t StateBytes(const PlanView& plan);
  [[nodiscard]] static size_t ScratchBytes(const PlanView& plan);

  /// Runs the plan check, binds every op to a kernel, checks shapes against the ops' rules, and
  /// lets kernels pack weights (the only heap use, and only by kernels that have a `load`). All
  /// arguments are borrowed; `state` must outlive this object, `scratch` need not.
  /// Call Unload whether this succeeds or not.
  /// Errors: CheckPlan's; kInvalidArgument (threads not in 1..kMostThreads, a null backend);
  /// kUnsupported (missing backend or kernel); kCorruptPlan (operands that an op's rule refuses);
  /// kOutOfMemory.
  Status Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
              Span<uint8_t> state, Span<uint8_t> scratch);
  void Unload();

  [[nodiscard]] const PlanView& view() const { return view_; }
  [[nodiscard]] const ProgramView& program() const { return program_; }
  [[nodiscard]] Span<const BoundOp> ops() const { return ops_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const Backend* backend(size_t index) const { return backends_[index]; }
  [[nodiscard]] const ParallelRunner& runner(size_t index) const { return runners_[index]; }
  /// Heap bytes held by kernels for this plan; what several ops share counts once.
  [[nodiscard]] size_t PackedBytes() const;

 private:
  Status FindBackends(Span<const Backend* const> backends);
  Status CheckArenas() const;
  Status CheckPorts(uint8_t* marks) const;
  Status CheckInPlace(const OpRow& row, const OpInfo& info) const;
  Status BindOp(size_t index, const TensorView* tensors);
  [[nodiscard]] KernelSetup SetupOf(size_t index, const TensorView* tensors) const;
  Status LoadKernels(const TensorView* tensors, uint64_t* keys);
  Status LoadKernel(size_t index, const TensorView* tensors);
  Status ChooseKernel(const OpInfo& info, const KernelSetup& setup, BoundOp& op) const;

  PlanView view_;
  ProgramView program_;
  Span<BoundOp> ops_;
  int threads_ = 1;
  const Backend* backends_[kMaxBackends] = {};
  ParallelRunner runners_[kMaxBackends] = {};
};

/// Fills `views` (one per tensor of the program) with dims, strides and dtype, and with the data
/// of constants; all other data is null.
void DescribeTensors(const PlanView& plan, const ProgramView& program, TensorView* views);

}  // namespace tenon
