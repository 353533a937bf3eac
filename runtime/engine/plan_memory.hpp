// A program's inputs, outputs and arenas, as loading checks them and sessions use them.
#pragma once

#include <cstddef>
#include <cstdint>

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
/// `marks` has a byte per storage. Errors: kCorruptPlan.
Status CheckPorts(const ProgramView& program, uint8_t* marks);

}  // namespace tenon
