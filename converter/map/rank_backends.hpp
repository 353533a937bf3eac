// Makes a priority table from measurements (methods M1): which backend is fastest for which ops.
#pragma once

#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/map/op_facts.hpp"

namespace tenon::converter {

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
