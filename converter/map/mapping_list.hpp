// What a board's priority table says of one op (methods M1).
#pragma once

#include <string>
#include <string_view>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct Ranking {
  int priority = 0;    ///< 1 is best; 0: the table does not give the op to this backend
  std::string reason;  ///< why not; empty if it does
};

/// An op's own rows come before those for "*", which then do not count; of either, the first row
/// whose constraints hold.
[[nodiscard]] Ranking RankingOf(const Board& board, std::string_view backend, const Graph& graph,
                                const Op& op);

}  // namespace tenon::converter
