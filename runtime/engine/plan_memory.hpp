// A program's inputs, outputs and arenas, as loading checks them and sessions use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/config.hpp"
#include "runtime/base/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// Inputs and outputs, counted on: outputs follow inputs.
[[nodiscard]] size_t PortCount(const ProgramView& program);
/// `port` is below PortCount.
[[nodiscard]] PortInfo PortAt(const ProgramView& program, size_t port);

/// Returns the bytes that a session needs for the arena. Call it only after CheckArenas.
[[nodiscard]] inline size_t BytesOf(const ArenaInfo& arena) {
  // Firmware takes no rings: no division is linked for them.
  return static_cast<size_t>(kHasDevices ? ArenaBytes(arena) : arena.bytes);
}

/// All arenas together can be addressed, with room for their alignment: sums of their sizes do not
/// wrap. Not needed where nobody adds them up. Errors: kOutOfMemory.
Status CheckArenas(const ProgramView& program);

/// Inputs and outputs are handed to the user as plain arrays, or taken from the user's memory: each
/// must be exactly a storage of its own in row-major order, or a run would reach beyond it.
/// The tensors of states, which are copied as they lie, likewise; but what a state writes may be
/// the end of the storage that it reads the beginning of, as a window that moves on. `marks` has a
/// byte per storage. Errors: kCorruptPlan.
Status CheckPorts(const ProgramView& program, uint8_t* marks);

/// Copies in order, by words: `to` may overlap `from` where it lies before it, as the beginning of
/// a window before its end. (memmove of small C libraries goes byte by byte.)
[[gnu::noinline]] inline void MoveBytes(uint8_t* to, const uint8_t* from, size_t bytes) {
  size_t k = 0;
  for (uint32_t word = 0; k + sizeof word <= bytes; k += sizeof word) {
    std::memcpy(&word, from + k, sizeof word);
    std::memcpy(to + k, &word, sizeof word);
  }
  for (; k < bytes; ++k) to[k] = from[k];
}

/// Sets every state to what the model starts with. `place_of(storage)` says where one lies. Both of
/// a plan that CheckPlan and CheckPorts have passed.
template <typename PlaceOf>
void ResetStates(const ProgramView& program, const PlaceOf& place_of) {
  for (size_t i = 0; kHasState && i < program.state_count(); ++i) {
    const StateInfo state = program.state(i);
    const uint32_t kept = program.tensor_storage(state.read);
    if (state.initial < 0) {
      std::memset(place_of(kept), 0, static_cast<size_t>(program.storage(kept).bytes));
    } else {
      const auto initial = static_cast<uint32_t>(state.initial);
      MoveBytes(place_of(kept), place_of(initial),
                static_cast<size_t>(program.storage(initial).bytes));
    }
  }
}

/// After a run: the next one finds what this one has written.
template <typename PlaceOf>
void KeepStates(const ProgramView& program, const PlaceOf& place_of) {
  for (size_t i = 0; kHasState && i < program.state_count(); ++i) {
    const StateInfo state = program.state(i);
    const TensorInfo written = program.tensor(state.write);
    const uint32_t kept = program.tensor_storage(state.read);
    MoveBytes(place_of(kept), place_of(written.storage) + written.offset,
              static_cast<size_t>(program.storage(kept).bytes - written.offset));
  }
}

}  // namespace tenon
