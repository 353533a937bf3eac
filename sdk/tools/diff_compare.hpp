// What two runs have in common, tensor by tensor, and where they part.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sdk/tools/diff_values.hpp"

namespace tenon::tool {

/// How far a tensor is from what it should be.
struct Distance {
  double snr_db = INFINITY;  ///< infinite: equal
  size_t worst = 0;          ///< index of the element with the largest difference
  double got = 0;
  double expected = 0;
  size_t different = 0;  ///< elements
};

struct Row {
  std::string tensor;
  std::optional<size_t> op;  ///< of plan A; none: an output that no op seen has written
  Distance distance;
  bool parts = false;
};

struct Comparison {
  std::vector<Row> rows;    ///< in the order in which plan A writes them
  size_t not_compared = 0;  ///< tensors of A that B has not, or in another type or shape

  /// The first row that parts, or null.
  [[nodiscard]] const Row* First() const;
};

/// Compares what a run wrote with tensors and outputs of the same name. Integers have one right
/// value and part where any element differs; floats depend on the order of sums, and part below
/// `snr_db` of signal to noise.
[[nodiscard]] Comparison CompareAll(const SeenRun& a, const std::vector<SeenTensor>& tensors,
                                    const std::vector<SeenTensor>& outputs, double snr_db);

}  // namespace tenon::tool
