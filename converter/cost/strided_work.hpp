// Counts what kernels of the CPU take for operands whose elements lie apart, which is known once
// the program has its layouts and views. The op table's work is that of dense rows.
#pragma once

#include <cstdint>

#include "converter/cost/profile_operands.hpp"

namespace tenon::converter {

/// Returns the elementary operations of vectors that fetching, storing and walking take in addition
/// to the work of dense rows: 0 where all rows are long and dense.
[[nodiscard]] int64_t StridedOps(const ProfileOperands& operands);

}  // namespace tenon::converter
