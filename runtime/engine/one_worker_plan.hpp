// A plan made ready to run on one thread of one processor, in as little memory as can be:
// firmware's form of a loaded plan. What an op needs to know is read from the plan, where it lies,
// every time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/backend.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// Memory of the caller's that stands in for the storage of an input or output.
struct BoundPort {
  void* data = nullptr;  ///< null: the storage lies in its arena
  uint32_t storage = 0;
};

/// Where a session has a program's storages.
struct Places {
  Span<void*> arenas;  ///< the start of each
  Span<BoundPort> ports;
  size_t bound = 0;  ///< ports that have data

  [[nodiscard]] uint8_t* Find(uint32_t index, const StorageInfo& storage) const;
};

/// Room for what a kernel sees of one op: a view of each operand, and its number among them.
struct OperandRoom {
  TensorView* views = nullptr;
  int32_t* ids = nullptr;

  /// For any op of the program; `memory` is aligned to 8 and has those bytes.
  [[nodiscard]] static size_t Bytes(const ProgramView& program);
  [[nodiscard]] static OperandRoom At(void* memory, const ProgramView& program);
};

/// An op as its kernel is called with it.
struct DescribedOp {
  OpInfo info;
  KernelCall call;
};

/// The first program of a plan. Threads: any number may use it once it is loaded.
class OneWorkerPlan {
 public:
  /// Bytes that `Load` needs: a pointer per op, and for the call's duration scratch.
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
  /// Operands in arenas have no data without `places`.
  [[nodiscard]] DescribedOp Describe(size_t op, const Places* places,
                                     const OperandRoom& room) const;

 private:
  void View(int32_t tensor, const Places* places, TensorView& view) const;
  Status BindOp(size_t op, const KernelList& kernels, const OperandRoom& room);

  PlanView view_;
  ProgramView program_;
  const KernelEntry** kernels_ = nullptr;  ///< by op
};

}  // namespace tenon
