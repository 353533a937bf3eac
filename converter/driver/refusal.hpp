// Says why a model does not fit a board, and with which limits it would.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converter/driver/fit.hpp"
#include "converter/driver/memory_needs.hpp"

namespace tenon::converter {

/// A program that was made, and what it needs of each space.
struct RefusedProgram {
  Fitted fitted;
  std::vector<SpaceNeed> needs;
};

/// Returns the error (kDoesNotFit) for programs of which each needs too much of some space: it
/// names the space, its bytes and its limit, the op that needs most, and the smallest limit that
/// works, which is that of one of the programs. Where the arena's space suffices for some of them,
/// it tells about the space that does not. There must be a program.
[[nodiscard]] Error RefusalOf(const std::vector<RefusedProgram>& programs, const Board& board,
                              bool split_allowed);

/// Returns the error (kDoesNotFit) for a model of which the constants alone, at least `constants`
/// bytes, are too many for their space. `arena`: what its whole ops need of the arena's space,
/// which is too much as well.
[[nodiscard]] Error RefusalOfConstants(int64_t constants, const SpaceNeed& arena,
                                       const Board& board);

/// Returns the limits that a line of such an error offers ("--memory-limit sram=4096"), by space.
[[nodiscard]] std::map<std::string, int64_t> LimitsIn(const std::string& line);

/// Returns the limit of a space that such an error offers; 0: it offers none.
[[nodiscard]] int64_t OfferedLimit(const Error& refused, const std::string& space);

}  // namespace tenon::converter
