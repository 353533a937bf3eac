// Searches for an order within a given peak where there are too many downsets to visit all: goes
// level by level of nodes done and keeps only the downsets with the fewest live bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/search_effort.hpp"

namespace tenon::converter {

struct BeamOptions {
  int64_t target = 0;  ///< peak to stay within
  size_t width = 1;    ///< downsets kept of each size
  /// Live bytes are randomly increased by up to this share, so that repeated searches differ.
  double noise = 0.0;
  uint64_t seed = 1;
  int64_t work = INT64_MAX;  ///< that may be spent, see SearchEffort
  WorkReport report;         ///< may be empty; is given `effort.work`
};

/// Returns an order with a peak of at most `target`, if one is found. Adds to `effort` at most
/// `width` downsets times the number of nodes.
[[nodiscard]] std::optional<std::vector<Index>> BeamSearch(const MemoryProblem& problem,
                                                           const BeamOptions& options,
                                                           SearchEffort& effort);

}  // namespace tenon::converter
