// Inputs that lie in memory of the caller's own: a plan has an arena for each of them, in which ops
// read and nothing is placed, so that they take nothing of the memory that is planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Of the images that are copied from inputs that come by rows: channels, then rows.
inline constexpr int32_t kRowAxis = 2;

struct OutsideInput {
  TensorId tensor = kNone;  ///< of a port; its bytes are nobody else's
  /// Above 0: rows come so many at a time, each once and in order. Then nothing but one op `copy`,
  /// or its patches, reads the input.
  int32_t rows = 0;
  OpId copy = kNone;  ///< that op, before it is cut
};
using OutsideInputs = std::vector<OutsideInput>;

[[nodiscard]] inline bool IsOutside(const OutsideInputs& inputs, TensorId root) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [root](const OutsideInput& input) { return input.tensor == root; });
}

}  // namespace tenon::converter
