// What each step must wait for: bytes that others write for it, and bytes that it writes over.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// A step of a list in which everything that a step needs stands before it.
struct OrderedStep {
  int32_t unit = 0;
  std::vector<int32_t> needs;  ///< earlier steps
};

/// Bytes of one arena that are used for one purpose for a time.
struct UsedBytes {
  int32_t arena = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  Picoseconds start = 0;
  Picoseconds end = 0;
  std::vector<int32_t> writers;  ///< steps
  std::vector<int32_t> users;    ///< steps that read or write
};

/// Adds to the steps' needs: whoever writes bytes waits for those who used them before for
/// something else. O(uses log uses).
void AddReuseNeeds(const std::vector<UsedBytes>& uses, std::vector<OrderedStep>& steps);

/// By step: the steps to wait for, at most one of each other unit and none that follows from the
/// others or from what the unit has waited for already (transitive reduction by vector clocks).
/// Steps of one unit run in their order.
[[nodiscard]] std::vector<std::vector<int32_t>> ReducedWaits(const std::vector<OrderedStep>& steps,
                                                             int32_t units);

}  // namespace tenon::converter
