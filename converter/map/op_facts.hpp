// The facts of an op that rows of a priority table may ask for (methods M1).
#pragma once

#include <cstdint>
#include <string>

#include "converter/board/board.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

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

}  // namespace tenon::converter
