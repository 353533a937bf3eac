// Seeded random instances of every op, with the operands and attributes that make splitting hard.
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"

namespace tenon::test {

/// A graph of one op on graph inputs (indices are constants). The same for the same seed; every
/// kind comes up equally often.
[[nodiscard]] converter::Graph RandomOp(uint64_t seed);

/// One of a quantized kind (kQuantize and up).
[[nodiscard]] converter::Graph RandomQuantizedOp(OpKind kind, uint64_t seed);

}  // namespace tenon::test
