// Finds what each step must wait for: bytes that others write for it, and bytes that it overwrites.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// A step of a list in which every step comes after all that it needs.
struct OrderedStep {
  int32_t unit = 0;
  std::vector<int32_t> needs;  ///< earlier steps
};

/// Bytes of one arena during one use, from the first write to the last read.
struct UsedBytes {
  int32_t arena = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  Picoseconds start = 0;
  Picoseconds end = 0;
  std::vector<int32_t> writers;  ///< steps
  std::vector<int32_t> users;    ///< steps that read or write
};

/// Adds to the steps' needs that the writer of bytes waits for the steps of their earlier use.
/// O(uses log uses).
void AddReuseNeeds(const std::vector<UsedBytes>& uses, std::vector<OrderedStep>& steps);

/// Returns, by step, the steps to wait for: at most one per other unit, and none that is implied by
/// the others or by the unit's earlier waits (transitive reduction by vector clocks). Steps of one
/// unit run in their order.
[[nodiscard]] std::vector<std::vector<int32_t>> ReducedWaits(const std::vector<OrderedStep>& steps,
                                                             int32_t units);

}  // namespace tenon::converter
