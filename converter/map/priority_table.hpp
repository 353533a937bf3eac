// The priority table (docs/methods.md, M1): the facts of an op that its rows ask for, what a
// board's table says of one op, and a table made from measurements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

// The facts of an op that rows of a priority table may ask for (docs/methods.md, M1).

/// What PriorityConstraints are compared with; see there.
struct OpFacts {
  std::string op;         ///< "conv"
  std::string dtype;      ///< of input 0; empty: it has none
  int32_t rank = 0;       ///< of input 0
  int32_t kernel = 0;     ///< longer side of the window; 0: the op has none
  int32_t channels = -1;  ///< dimension 1 of input 0; -1: it has none
  int64_t elements = 0;   ///< of output 0
};

[[nodiscard]] OpFacts FactsOf(OpKind kind, const OpCall& call);

/// Why the constraints do not hold; empty if they do. An op without inputs has none to meet.
[[nodiscard]] std::string Breach(const PriorityConstraints& when, const OpFacts& facts);

// What a board's priority table says of one op (docs/methods.md, M1).

struct Ranking {
  int priority = 0;    ///< 1 is best; 0: the table does not give the op to this backend
  std::string reason;  ///< why not; empty if it does
};

/// An op's own rows come before those for "*", which then do not count; of either, the first row
/// whose constraints hold.
[[nodiscard]] Ranking RankingOf(const Board& board, std::string_view backend, const Graph& graph,
                                const Op& op);

// Makes a priority table from measurements (docs/methods.md, M1): which backend is fastest for
// which ops.

/// What one op took on one backend.
struct MeasuredOp {
  OpFacts facts;
  std::string key;  ///< equal for the same op on other backends
  std::string backend;
  double ms = 0;      ///< once
  double places = 1;  ///< how often it was found: its weight
};

/// Rows for every kind of op that was measured on two backends or more, by the total time of the
/// ops measured on all of those. Where a bound on the window, the channels or the elements tells
/// apart ops that are fastest on different backends, and that saves more than 3 % of the kind's
/// time, the kind has a set of rows on either side of the bound (one bound per kind: the best of
/// all). Deterministic; ties go to the backend whose name comes first.
[[nodiscard]] std::vector<Priority> RankBackends(const std::vector<MeasuredOp>& measured);

}  // namespace tenon::converter
