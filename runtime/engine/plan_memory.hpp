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

constexpr size_t kBlockBytes = 16;

/// Reads all of a block before it writes any of it. What the compilers make of it: a load and a
/// store with Helium, else four of each.
inline void MoveBlock(uint8_t* to, const uint8_t* from) {
#ifdef __ARM_FEATURE_MVE
  __attribute__((vector_size(kBlockBytes))) uint8_t block;
  std::memcpy(&block, from, sizeof block);
  std::memcpy(to, &block, sizeof block);
#else
  uint32_t first;
  uint32_t second;
  uint32_t third;
  uint32_t fourth;
  constexpr size_t kWord = sizeof first;
  std::memcpy(&first, from, kWord);
  std::memcpy(&second, from + kWord, kWord);
  std::memcpy(&third, from + 2 * kWord, kWord);
  std::memcpy(&fourth, from + 3 * kWord, kWord);
  std::memcpy(to, &first, kWord);
  std::memcpy(to + kWord, &second, kWord);
  std::memcpy(to + 2 * kWord, &third, kWord);
  std::memcpy(to + 3 * kWord, &fourth, kWord);
#endif
}

/// Copies in order, by blocks: `to` may overlap `from` where it lies before it, as the beginning of
/// a window before its end. (memmove of small C libraries goes byte by byte.)
[[gnu::noinline]] inline void MoveBytes(uint8_t* to, const uint8_t* from, size_t bytes) {
  const uint8_t* const end = from + bytes;
  const uint8_t* const blocks = end - bytes % kBlockBytes;
  for (; from != blocks; from += kBlockBytes, to += kBlockBytes) MoveBlock(to, from);
  while (from != end) *to++ = *from++;
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
