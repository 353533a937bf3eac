// Boards on which one backend is tried at a time, for measuring and testing it.
#pragma once

#include <string>
#include <vector>

#include "converter/board/board.hpp"

namespace tenon::converter {

/// Returns the board with a priority table that prefers `backend` wherever it can run an op.
[[nodiscard]] Board Preferring(Board board, const std::string& backend);

/// Returns the board's backends that this build knows.
[[nodiscard]] std::vector<std::string> BackendsToMeasure(const Board& board);

}  // namespace tenon::converter
