// Implements the priority table (docs/methods.md, M1): the facts of an op that its rows ask for,
// what a board's table says about one op, and how a table is made from measurements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

// Rows of a priority table may ask for the following facts of an op (docs/methods.md, M1).

/// Contains the facts that PriorityConstraints are compared with; see there.
struct OpFacts {
  std::string op;         ///< "conv"
  std::string dtype;      ///< of input 0; empty: it has none
  int32_t rank = 0;       ///< of input 0
  int32_t kernel = 0;     ///< longer side of the window; 0: the op has none
  int32_t channels = -1;  ///< dimension 1 of input 0; -1: it has none
  int64_t elements = 0;   ///< of output 0
};

[[nodiscard]] OpFacts FactsOf(OpKind kind, const OpCall& call);

/// Returns which constraint is not met; empty if all are. An op without inputs has none to meet.
[[nodiscard]] std::string Breach(const PriorityConstraints& when, const OpFacts& facts);

// A ranking is what a board's priority table says about one op (docs/methods.md, M1).

struct Ranking {
  int priority = 0;    ///< 1 is best; 0: the table does not give the op to this backend
  std::string reason;  ///< why not; empty if it does
};

/// Ranks the op on the backend. Rows of an op's own precede and replace those for "*"; among the
/// rows that count, the first whose constraints are met applies.
[[nodiscard]] Ranking RankingOf(const Board& board, std::string_view backend, const Graph& graph,
                                const Op& op);

// Makes a priority table from measurements (docs/methods.md, M1): which backend is fastest for
// which ops.

/// Says how long one op took on one backend.
struct MeasuredOp {
  OpFacts facts;
  std::string key;  ///< equal for the same op on other backends
  std::string backend;
  double ms = 0;      ///< once
  double places = 1;  ///< how often it was found: its weight
};

/// Makes rows for every kind of op that was measured on two backends or more, by the total time of
/// the ops measured on all of those. If a bound on the window, the channels or the elements
/// separates ops that are fastest on different backends, and that saves more than 3 % of the kind's
/// time, the kind gets a set of rows for either side of the bound (one bound per kind: the best of
/// all). Deterministic; ties go to the backend whose name comes first.
[[nodiscard]] std::vector<Priority> RankBackends(const std::vector<MeasuredOp>& measured);

}  // namespace tenon::converter
