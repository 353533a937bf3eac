// Finds moves of images that networks write as a reshape, a transpose and a reshape: channel
// shuffles, depth to space and back, the phases of transposed convolutions put together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// x [N, C, H, W] is cut into parts, these are put into another order, and joined to y.
struct ImageMove {
  OpId first = kNone;   ///< the reshape that cuts
  OpId middle = kNone;  ///< the transpose
  OpId last = kNone;    ///< the reshape that joins
  TensorId x = kNone;
  Shape parts;                  ///< of x
  std::vector<int32_t> x_runs;  ///< by dimension of x: its first part; then their number
  std::vector<int32_t> order;   ///< of the parts in y: numbers of x's
  std::vector<int32_t> y_runs;  ///< by dimension of y: its first place in `order`

  /// The parts of the dimensions of y, or of x, that `axes` lists, as numbers of x's parts.
  [[nodiscard]] std::vector<int32_t> PartsOfOutput(const std::vector<int32_t>& axes) const;
  [[nodiscard]] std::vector<int32_t> PartsOfInput(const std::vector<int32_t>& axes) const;
};

/// The axes of an image in the order of channels last.
inline const std::vector<int32_t> kChannelsLastAxes = {0, 2, 3, 1};

/// Returns the move that `last` ends, if the ops before it have no other readers and no layout has
/// been chosen. y may have any rank.
[[nodiscard]] std::optional<ImageMove> FindImageMove(const Graph& graph, OpId last);

}  // namespace tenon::converter
