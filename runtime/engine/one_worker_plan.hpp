// A plan made ready to run on one thread of one processor, in as little memory as can be:
// firmware's form of a loaded plan. Tensors are described once per session; an op's operands are
// read from the plan, where it lies, every time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/backend.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// The first program of a plan. Threads: any number may use it once it is loaded.
class OneWorkerPlan {
 public:
  /// Bytes that `Load` needs: a pointer and a number per op, and for the call's duration scratch.
  static constexpr size_t kStateBytesPerOp = sizeof(KernelEntry*) + sizeof(uint16_t);
  [[nodiscard]] static size_t StateBytes(const PlanView& plan);
  [[nodiscard]] static size_t ScratchBytes(const PlanView& plan);

  /// Runs the plan check, finds the kernel of every op and checks operands against the ops' rules.
  /// All arguments are borrowed; `state` must outlive this object, `scratch` need not. Both have
  /// the bytes asked for above and are aligned to 16: the caller has seen to that. No heap. Errors:
  /// CheckPlan's; kInvalidArgument (threads other than 1, a null backend); kUnsupported (several
  /// workers or a backend other than the CPU, missing backend or kernel); kCorruptPlan (operands
  /// that an op's rule refuses); kOutOfMemory.
  Status Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
              uint8_t* state, Span<uint8_t> scratch);

  [[nodiscard]] const PlanView& view() const { return view_; }
  [[nodiscard]] const ProgramView& program() const { return program_; }
  [[nodiscard]] const KernelEntry& kernel(size_t op) const { return *kernels_[op]; }
  [[nodiscard]] static const char* backend_name(size_t /*op*/) { return "cpu"; }
  [[nodiscard]] const char* worker_name(size_t /*op*/) const { return program_.worker_name(0); }

  /// The same error, telling of which op.
  [[nodiscard]] Status AtOp(const Status& status, size_t op) const;
  /// The op that comes at that place in the order of execution.
  [[nodiscard]] uint32_t op_at(size_t step) const { return order_[step]; }

  /// Where a tensor lies: a constant in the plan, another in its arena. `arenas` has the start of
  /// each; without it (null) there is no place in them: null.
  [[nodiscard]] uint8_t* Address(const TensorInfo& tensor, void* const* arenas) const;
  /// Describes every tensor of the program, `arenas` as above; `views` has one of each.
  void DescribeTensors(void* const* arenas, TensorView* views) const;
  /// Makes `call` the op's, whatever op's it was: operands and workspace. The rest of it is
  /// as it was made, once per run: to clear it takes as long as to look up the op.
  void Prepare(size_t op, const TensorView* views, KernelCall* call) const;

 private:
  Status BindOp(size_t op, const KernelList& kernels, const TensorView* views);

  PlanView view_;
  ProgramView program_;
  const KernelEntry** kernels_ = nullptr;  ///< by op
  uint16_t* order_ = nullptr;              ///< ops, by step
};

}  // namespace tenon
