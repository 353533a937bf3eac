// Seeded random boards: one to four units and one to four memories, of every kind that a board file
// can describe and the converter's kernels can run on.
#pragma once

#include <cstdint>

#include "converter/board/board.hpp"

namespace tenon::test {

/// Returns the same board for the same seed. Memories are large: tests set limits. With
/// `with_opencl` false, no unit is an OpenCL device.
[[nodiscard]] converter::Board RandomBoard(uint64_t seed, bool with_opencl = true);

}  // namespace tenon::test
