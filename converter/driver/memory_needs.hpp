// Counts the bytes that a program needs of each memory space: the one answer to "does it fit".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/driver/compile.hpp"
#include "converter/schedule/program_to_emit.hpp"

namespace tenon::converter {

/// The bytes that a program needs of one memory space.
struct SpaceNeed {
  std::string space;      ///< its name on the board
  int64_t arenas = 0;     ///< every arena in it, with every slot of a ring
  int64_t constants = 0;  ///< the plan's section of constants, with padding
  int64_t packed = 0;     ///< weights that kernels pack when the plan is loaded, at most

  [[nodiscard]] int64_t bytes() const { return arenas + constants + packed; }
};

/// Returns the compiled program as the plan's first: it borrows from `compiled`.
[[nodiscard]] ProgramToEmit SequentialProgram(const Compiled& compiled, const Board& board);

/// Returns the bytes that the program needs of the board's arena space, other than its arena.
[[nodiscard]] Result<int64_t> BytesBesideArena(const Compiled& compiled, const Board& board);

/// Returns the first memory space of the board that may hold constants, or else the arena's.
[[nodiscard]] const MemorySpace& ConstantsSpace(const Board& board);

/// Returns what a plan of these programs needs of each space of the board, in the board's order.
/// One program is loaded at a time, so arenas and packed weights count as those of the program that
/// needs most; constants are shared. Errors: as EmitPlan.
[[nodiscard]] Result<std::vector<SpaceNeed>> NeedsOf(const std::vector<ProgramToEmit>& programs,
                                                     const Board& board);
[[nodiscard]] Result<std::vector<SpaceNeed>> NeedsOf(const Compiled& compiled, const Board& board);

/// Returns the need of a space that has fewer usable bytes; null if all fit.
[[nodiscard]] const SpaceNeed* FindShortage(const std::vector<SpaceNeed>& needs,
                                            const Board& board);

/// Returns the need of one space; zero bytes if it is not listed.
[[nodiscard]] SpaceNeed NeedOf(const std::vector<SpaceNeed>& needs, const std::string& space);

}  // namespace tenon::converter
