// A plan made ready to run on one thread of one processor, in as little memory as can be:
// firmware's form of a loaded plan. Nothing is kept of tensors, and a byte of each op: what a
// kernel works on is read from the plan, where it lies, in every run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/backend.hpp"
#include "runtime/base/config.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/format/run_reader.hpp"

namespace tenon {

/// The first program of a plan. Threads: any number may use it once it is loaded.
class OneWorkerPlan {
 public:
  /// Bytes that `Load` needs: a byte per op and a pointer per section; for the call's duration also
  /// the plan check's scratch.
  static constexpr size_t kStateBytesPerOp = sizeof(uint8_t);
  static constexpr size_t kStateBytesPerSection = sizeof(const uint8_t*);
  [[nodiscard]] static size_t StateBytes(const PlanView& plan);

  /// Runs the plan check, finds the kernel of every op and checks operands against the ops' rules.
  /// All arguments are borrowed; `state` must outlive this object, `scratch` need not. Both have
  /// the bytes asked for above and are aligned to 16: the caller has seen to that. No heap. Errors:
  /// CheckPlan's; kInvalidArgument (threads other than 1, a null backend); kUnsupported (several
  /// workers or a backend other than the CPU, missing backend or kernel, a kernel that stands
  /// behind kMostKernels others); kCorruptPlan (operands that an op's rule refuses); kOutOfMemory.
  Status Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
              uint8_t* state, Span<uint8_t> scratch);
  /// Kernels of a backend that a byte can tell apart.
  static constexpr size_t kMostKernels = 256;

  [[nodiscard]] const PlanView& view() const { return view_; }
  [[nodiscard]] const ProgramView& program() const { return program_; }
  [[nodiscard]] const KernelEntry& kernel(size_t op) const;
  [[nodiscard]] OpNames names(size_t op) const {
    const KernelEntry& entry = kernel(op);
    return {entry.row->name, entry.id};
  }
  [[nodiscard]] static const char* backend_name(size_t /*op*/) { return "cpu"; }
  [[nodiscard]] const char* worker_name(size_t /*op*/) const { return program_.worker_name(0); }
  /// Of an op: inputs, outputs and a workspace.
  [[nodiscard]] size_t most_operands() const { return most_operands_; }
  /// Where the constants are: by section of the plan.
  [[nodiscard]] uint8_t* const* sections() const { return sections_; }

  /// The same error, telling of which op.
  [[nodiscard]] Status AtOp(const Status& status, size_t op) const {
    if constexpr (kHasWords) return status.In(program_.op(op).name);
    return status.AtOp(op);
  }

 private:
  Status BindOp(size_t op, const RunReader& reader);

  PlanView view_;
  ProgramView program_;
  const Backend* cpu_ = nullptr;
  uint8_t** sections_ = nullptr;  ///< the start of each
  uint8_t* kernel_of_ = nullptr;  ///< by op: which of cpu_'s kernels
  size_t most_operands_ = 0;
};

}  // namespace tenon
