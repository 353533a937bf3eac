// Where the tensors of a program lie for one who executes it, or a part of it: in arenas, in memory
// that the caller has bound, in slots of rings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/device.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/engine/loaded_plan.hpp"

namespace tenon {

/// Not safe to use from two threads at once: every stage of a pipeline has its own, on the same
/// arenas.
class Addresses {
 public:
  /// Bytes that `Open` needs.
  [[nodiscard]] static size_t StateBytes(const LoadedPlan& plan);

  /// `arenas`: the memory of each arena of the program (at least ArenaBytes, all ring slots of it).
  /// `plan`, `state` and the arenas are borrowed. Every tensor lies in its arena, in slot 0.
  /// Errors: kInvalidArgument (an arena null or misaligned), kOutOfMemory (state too small).
  Status Open(const LoadedPlan& plan, const ArenaMemory* arenas, Span<uint8_t> state);

  /// Returns, by tensor, where the host has it.
  [[nodiscard]] const TensorView* host() const { return host_.data(); }
  /// Returns, by tensor, where the plan puts it whatever is bound; devices are told this.
  [[nodiscard]] const TensorView* planned() const { return planned_.data(); }
  [[nodiscard]] Span<const ArenaMemory> arenas() const { return arenas_; }

  /// Where a byte of an arena lies, in the slot that the input under way uses; devices are told
  /// this.
  [[nodiscard]] void* InUse(size_t arena, uint64_t offset) const;

  /// Uses `data` for the port's storage from now on; null goes back to the arena.
  void BindInput(size_t index, void* data);
  void BindOutput(size_t index, void* data);
  /// Where the tensor of a port lies if nothing is bound to it.
  [[nodiscard]] uint8_t* PlaceInArena(uint32_t tensor) const;
  /// True if it lies in memory bound to it.
  [[nodiscard]] bool IsBound(uint32_t tensor) const {
    return host_[tensor].data != PlaceInArena(tensor);
  }
  /// Sets what the program keeps from run to run to what the model starts with.
  void ResetStates();
  /// After a run that succeeded: the next one finds the states that this one has written.
  void KeepStates();
  /// For input number `input` of a stream: every ring shows slot `input` modulo its slots.
  void UseSlots(uint64_t input);

 private:
  void GroupTensors();
  void Move(uint32_t storage, uint8_t* host, uint8_t* planned);
  [[nodiscard]] uint8_t* InArena(uint32_t storage, uint64_t slot) const;
  [[nodiscard]] uint8_t* PlaceOf(uint32_t storage) const;
  void BindStorage(uint32_t storage, void* data);

  const LoadedPlan* plan_ = nullptr;
  Span<TensorView> host_;
  Span<TensorView> planned_;  ///< the same array as host_ in programs without devices
  Span<ArenaMemory> arenas_;
  // Tensors by storage: those of storage s are tensor_[first_[s]] up to tensor_[first_[s + 1]].
  Span<uint32_t> first_;
  Span<uint32_t> tensor_;
  Span<uint32_t> ring_storage_;  ///< storages in arenas of several slots
  uint64_t input_ = 0;           ///< what UseSlots has been told last
};

}  // namespace tenon
