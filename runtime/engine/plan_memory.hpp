// What loading checks of a program's memory beyond the plan check: that the caller can give it.
#pragma once

#include <cstdint>

#include "runtime/base/config.hpp"
#include "runtime/base/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// Bytes that a session needs for the arena. Only after CheckArenas.
[[nodiscard]] inline size_t BytesOf(const ArenaInfo& arena) {
  // Firmware takes no rings: no 64-bit division is linked for them.
  return static_cast<size_t>(kHasDevices ? ArenaBytes(arena) : arena.bytes);
}

/// All arenas together can be addressed, with room for their alignment: sums of their sizes do not
/// wrap. Errors: kOutOfMemory.
Status CheckArenas(const ProgramView& program);

/// Inputs and outputs are handed to the user as plain arrays, or taken from the user's memory: each
/// must be exactly a storage of its own in row-major order, or a run would reach beyond it.
/// `marks` has a byte per storage. Errors: kCorruptPlan.
Status CheckPorts(const ProgramView& program, uint8_t* marks);

}  // namespace tenon
