// Whether this machine is the one that a board describes: only then do measurements made here say
// something of it.
#pragma once

#include <string_view>

#include "converter/board/board.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

/// Returns this machine's processor, in the words of board files (Board::architecture).
[[nodiscard]] std::string_view ThisArchitecture();

/// Checks that ops may be measured here for a board: it says that its processor is of this
/// machine's kind, and none of its units is a device that other kernels stand in for. Errors
/// (kUsage) say what the board is, what this machine is, and what to do instead.
[[nodiscard]] Status CheckIsThisMachine(const Board& board);

}  // namespace tenon::converter
