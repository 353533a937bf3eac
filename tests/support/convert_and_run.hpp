// Converts in memory and runs through the public interface, for tests that compare results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tests/support/run_plan.hpp"

namespace tenon::test {

/// Options for the built-in board `name`.
[[nodiscard]] converter::ConvertOptions OptionsFor(const std::string& board = "x86-64");

/// Seeded values for every input of a graph: f32 in [-1, 1), integers in [0, 8), bools.
[[nodiscard]] std::vector<std::vector<std::byte>> RandomInputs(const converter::Graph& graph,
                                                               uint64_t seed);

/// Largest |a - b| over the outputs as f32, divided by the largest |b| (or 1e-30).
[[nodiscard]] double RelativeDifference(const std::vector<std::byte>& a,
                                        const std::vector<std::byte>& b);

}  // namespace tenon::test
