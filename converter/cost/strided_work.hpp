// Counts what kernels of the CPU take for operands whose elements lie apart, which is known once
// the program has its layouts and views. The op table's work is that of dense rows.
#pragma once

#include <cstdint>

#include "converter/cost/profile_operands.hpp"

namespace tenon::converter {

/// Returns the elementary operations of vectors that a kernel takes beside the work of its
/// elements: for starting rows and tiles of them, and for elements that are fetched or stored one
/// by one. Few where rows are long and dense.
[[nodiscard]] int64_t StridedOps(const ProfileOperands& operands);

/// Returns the bytes that caches move beside those of the elements, where runs of these are shorter
/// than a cache line and lie apart. Of several such operands the largest counts: parts of one
/// tensor, as a concat's are, lie in the same lines.
[[nodiscard]] int64_t BytesBesideElements(const ProfileOperands& operands);

}  // namespace tenon::converter
