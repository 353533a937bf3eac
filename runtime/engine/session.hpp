// One independent execution of a loaded plan: its arenas, tensors and kernel states.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/engine/loaded_plan.hpp"

namespace tenon {

/// Told after every op how long it took.
struct OpTimer {
  void (*record)(void* context, size_t op, uint64_t nanoseconds) = nullptr;
  void* context = nullptr;
  uint64_t (*clock_nanoseconds)(void* context) = nullptr;
};

class Session {
 public:
  /// Bytes that `Open` needs for tensors and kernel states, arenas apart.
  [[nodiscard]] static size_t StateBytes(const LoadedPlan& plan);

  /// `plan`, `state` and each arena (size and alignment as the plan says) are borrowed and must
  /// outlive the session. Call Close whether this succeeds or not.
  Status Open(const LoadedPlan& plan, Span<uint8_t> state, void* const* arenas);
  void Close();

  /// Where input / output `index` lies now.
  [[nodiscard]] void* InputData(size_t index) const;
  [[nodiscard]] void* OutputData(size_t index) const;

  /// Uses `data` for the port's storage from now on; null goes back to the arena.
  void BindInput(size_t index, void* data);
  void BindOutput(size_t index, void* data);

  /// Executes every step on this thread. Several workers take turns, each going on as far as its
  /// waits allow: the same order every time. No heap.
  Status Run(const OpTimer* timer = nullptr);

  [[nodiscard]] const LoadedPlan& plan() const { return *plan_; }
  /// Heap bytes held by kernels for this session.
  [[nodiscard]] size_t PackedBytes() const;

 private:
  void BindStorage(uint32_t storage, void* data);
  [[nodiscard]] uint8_t* ArenaBase(const StorageInfo& storage) const;
  Status RunWorker(size_t worker, size_t* done, const OpTimer* timer);
  Status RunStep(size_t op, const OpTimer* timer);
  Status RunOp(size_t index);

  const LoadedPlan* plan_ = nullptr;
  Span<TensorView> tensors_;
  Span<void*> states_;  ///< per op, what the kernel's `open` made
  Span<uint8_t*> arenas_;
};

}  // namespace tenon
