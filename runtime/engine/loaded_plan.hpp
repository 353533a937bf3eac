// A plan made ready to run: checked, kernels found, weights packed. Read-only once loaded; shared
// by all its sessions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/backend.hpp"
#include "runtime/base/home_process.hpp"
#include "runtime/base/most_threads.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// One op with its kernel. The operand spans point into the plan file.
struct BoundOp {
  const KernelEntry* kernel = nullptr;  ///< null: its segment is run by code
  void* shared = nullptr;         ///< what the kernel's `load` made, for this op or an equal one
  const char* variant = nullptr;  ///< of the kernel, as the plan names it; or null
  Span<const int32_t> inputs;
  Span<const int32_t> outputs;
  const void* attributes = nullptr;
  int32_t workspace = -1;
  int32_t in_place = -1;
  OpCondition condition;
  uint32_t segment = 0;
  uint16_t backend = 0;      ///< index for LoadedPlan::backend
  bool owns_shared = false;  ///< of the ops with the same `shared`, the one that unloads it
  bool is_awaited = false;   ///< another worker waits for its step
  uint8_t worker = 0;
  /// Of the first op of a group: how many ops start together, from this step on. 1: it starts
  /// alone.
  uint8_t group_size = 1;
  uint32_t group = 0;  ///< which, of such an op

  [[nodiscard]] OpCall Call(const TensorView* tensors) const {
    return OpCall{tensors, inputs, outputs, attributes};
  }
};

/// Backends that a plan may use at once.
inline constexpr size_t kMaxBackends = 8;
/// One program of a plan. Threads: any number may use it once it is loaded.
class LoadedPlan {
 public:
  /// Bytes that `Load` needs for the ops of this program and, for the call's duration, as scratch.
  [[nodiscard]] static size_t StateBytes(const PlanView& plan, size_t program);
  [[nodiscard]] static size_t ScratchBytes(const PlanView& plan, size_t program);

  /// Runs the plan check, opens devices, binds every op of the program to a kernel, checks shapes
  /// against the ops' rules, and lets kernels pack weights (the only heap use, and only by kernels
  /// that have a `load`). Where the plan carries fall-back kernels those are made ready too; a
  /// backend that is missing or fails here is then replaced by the CPU, and `notice` says so.
  /// All arguments are borrowed; `state` must outlive this object, `scratch` need not.
  /// Call Unload whether this succeeds or not.
  /// Errors: CheckPlan's; kInvalidArgument (no such program, threads not in 1..kMostThreads, a null
  /// backend); kUnsupported (missing backend, device or kernel); kBackendFailure; kCorruptPlan
  /// (operands that an op's rule refuses); kOutOfMemory.
  Status Load(const PlanView& plan, size_t program, Span<const Backend* const> backends,
              int threads, Span<uint8_t> state, Span<uint8_t> scratch);
  void Unload();

  [[nodiscard]] const PlanView& view() const { return view_; }
  [[nodiscard]] const ProgramView& program() const { return program_; }
  /// Which of the plan's programs that is.
  [[nodiscard]] size_t program_index() const { return program_index_; }
  [[nodiscard]] Span<const BoundOp> ops() const { return ops_; }
  /// By op: the CPU's form of a device's op, its `kernel` null for other ops. Empty without any.
  [[nodiscard]] Span<const BoundOp> fallback_ops() const { return fallback_ops_; }
  /// The names of the op's kind and of its kernel; where code runs it: of the kernel planned.
  [[nodiscard]] OpNames names(size_t op) const;
  [[nodiscard]] const char* backend_name(size_t op) const {
    return backends_[ops_[op].backend]->name;
  }
  [[nodiscard]] const char* worker_name(size_t op) const {
    return program_.worker_name(ops_[op].worker);
  }
  /// Of a pipeline, its stages; any other program is one stage.
  [[nodiscard]] size_t stages() const { return stages_; }
  /// The stage that a worker works for. The first of a stage is worker number `stage`.
  [[nodiscard]] size_t stage_of_worker(size_t worker) const { return stage_of_worker_[worker]; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const Backend* backend(size_t index) const { return backends_[index]; }
  /// What the device made of a segment's code; null: the segment has none, or the CPU runs it.
  [[nodiscard]] void* code(size_t segment) const {
    return codes_.empty() ? nullptr : codes_[segment];
  }
  /// What the device made of a group's source; null: its ops are started one by one.
  [[nodiscard]] void* group(size_t group) const {
    return groups_.empty() ? nullptr : groups_[group];
  }
  [[nodiscard]] const ParallelRunner& runner(size_t index) const { return runners_[index]; }
  /// True if kernels of this backend enqueue their work.
  [[nodiscard]] bool IsDevice(size_t index) const { return backends_[index]->device != nullptr; }
  [[nodiscard]] void* device(size_t index) const { return devices_[index]; }
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  /// Heap bytes held by kernels for this plan; what several ops share counts once.
  [[nodiscard]] size_t PackedBytes() const;
  /// Which backends the CPU stands in for, and why, and that devices have refused groups; empty if
  /// neither.
  [[nodiscard]] const char* notice() const { return notice_; }

  /// A device that did not answer is left alone from then on, by all runs.
  void Quarantine(size_t backend) const { quarantined_[backend].store(true); }
  [[nodiscard]] bool IsQuarantined(size_t backend) const { return quarantined_[backend].load(); }

  /// What a kernel's `load` and `open` are told of an op; its stream left out.
  [[nodiscard]] KernelSetup SetupOf(const BoundOp& op, const TensorView* tensors) const;

 private:
  static constexpr size_t kNoBackend = SIZE_MAX;

  Status TakeState(Span<uint8_t> state);
  void PlaceOps();
  void FindStages();
  Status FindBackends(Span<const Backend* const> backends);
  Status FindBackend(size_t index, const char* name, Span<const Backend* const> backends);
  bool Replace(size_t backend, const Status& reason);
  void Note(const Status& reason, const char* consequence);
  void CloseBackend(size_t index);

  // kernel_binding.cpp
  Status BindAll(const TensorView* tensors, uint64_t* keys, size_t* failed);
  Status BindOp(size_t index, bool fallback, const TensorView* tensors, BoundOp& op);
  Status LoadKernels(Span<BoundOp> ops, const TensorView* tensors, uint64_t* keys, size_t* failed);
  Status LoadKernel(BoundOp& op, size_t index, const TensorView* tensors, size_t* failed);
  void UnloadKernels();

  // code_binding.cpp
  [[nodiscard]] bool IsRunByCode(const BoundOp& op) const;
  struct GroupContext;
  void LoadGroups(const TensorView* tensors);
  void UnloadGroups();
  Status LoadCodes(size_t* failed);
  Status LoadCode(size_t segment, void** loaded);
  void UnloadCodes();

  PlanView view_;
  ProgramView program_;
  size_t program_index_ = 0;
  Span<BoundOp> ops_;
  Span<BoundOp> fallback_ops_;
  Span<void*> codes_;   ///< by segment; empty where none has code
  Span<void*> groups_;  ///< by group; empty where none has a source
  size_t stages_ = 1;
  uint8_t stage_of_worker_[kMaxWorkers] = {};
  int threads_ = 1;
  int64_t packable_ = 0;  ///< elements of constants that may still be packed
  // By index of the plan's backends; "cpu" stands behind them if only fall-back kernels need it.
  const Backend* backends_[kMaxBackends + 1] = {};
  ParallelRunner runners_[kMaxBackends + 1] = {};
  void* devices_[kMaxBackends + 1] = {};
  bool replaced_[kMaxBackends + 1] = {};
  mutable std::atomic<bool> quarantined_[kMaxBackends + 1] = {};
  size_t cpu_ = kNoBackend;  ///< of fall-back kernels
  bool has_devices_ = false;
  HomeProcess home_;
  char notice_[200] = {};
};

/// Fills `views` (one per tensor of the program) with dims, strides and dtype, and with the data
/// of constants; all other data is null.
void DescribeTensors(const PlanView& plan, const ProgramView& program, TensorView* views);

}  // namespace tenon
