// One independent execution of a plan on one thread: firmware's form of a session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/device.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/engine/one_worker_plan.hpp"
#include "runtime/engine/run_options.hpp"

namespace tenon {

class OneWorkerSession {
 public:
  /// Bytes that `Open` needs; arenas apart: room for the operands of one op, a pointer per arena,
  /// and what each port is bound to.
  static constexpr size_t kStateBytesPerArena = sizeof(uint8_t*);
  static constexpr size_t kStateBytesPerPort = sizeof(BoundStorage);
  [[nodiscard]] static size_t StateBytes(const OneWorkerPlan& plan);

  /// `plan`, `state` and the arenas (one per arena of the program, each with the bytes and
  /// alignment that the plan says) are borrowed and must outlive the session. `state` has the bytes
  /// asked for above and is aligned to 16: the caller has seen to that.
  void Open(const OneWorkerPlan& plan, uint8_t* state, const ArenaMemory* arenas);

  /// Where an input or output lies now, counted as PortAt counts.
  [[nodiscard]] void* PortData(size_t port) const;
  /// The bytes of its storage, which is the port's alone.
  [[nodiscard]] size_t PortBytes(size_t port) const;
  /// Uses `data` for the port's storage from now on; null goes back to the arena.
  void BindPort(size_t port, void* data);
  /// True if the port lies in memory bound to it.
  [[nodiscard]] bool IsBound(size_t port) const { return bound_[port].data != nullptr; }

  [[nodiscard]] const OneWorkerPlan& plan() const { return *plan_; }

  /// Executes every step. No heap. Errors: the kernels', naming the op. The session can be used
  /// again after any of them: state is then what it was before the run.
  Status Run(const RunOptions& options = {});

  /// Sets what the program keeps from run to run to what the model starts with, as Open does.
  void ResetStates();

 private:
  const OneWorkerPlan* plan_ = nullptr;
  BoundStorage* bound_ = nullptr;  ///< by port
  RunReader reader_;
};

}  // namespace tenon
