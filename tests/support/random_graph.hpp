// Seeded random graphs that look like what importers make, with the shapes on which views, copies
// and in-place hand-overs get hard: concatenations of concatenations, slices of slices, transposes
// between them, one tensor used many times.
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"

namespace tenon::test {

struct RandomGraphOptions {
  int most_ops = 14;
  bool integers = true;    ///< i32 and bool tensors too
  bool quantized = false;  ///< tensors of 8 bits and ops on them, in place of those of floats
};

/// The same graph for the same seed and options; with fewer `most_ops`, a prefix of its ops. Values
/// stay near 1 where inputs are (see RandomInputs), so that wrong elements show. The result has
/// passed Verify.
[[nodiscard]] converter::Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace tenon::test
