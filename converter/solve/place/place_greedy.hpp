// Fast placements: buffers are placed one after another, each into the gap that suits it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "converter/solve/place/place.hpp"

namespace tenon::converter {

/// In which order buffers are placed; ties are broken by size, then by index.
enum class GreedyOrder {
  kSize,      ///< largest first
  kArea,      ///< largest size x lifetime first
  kLifetime,  ///< longest lived first
  kStart,     ///< earliest first
  kEnd,       ///< latest end first
  kPressure,  ///< those alive when most bytes are live first (TFLite's greedy by breadth)
};
inline constexpr std::array kGreedyOrders = {GreedyOrder::kSize,     GreedyOrder::kArea,
                                             GreedyOrder::kPressure, GreedyOrder::kLifetime,
                                             GreedyOrder::kStart,    GreedyOrder::kEnd};

/// Which gap between those already placed a buffer goes to.
enum class GreedyFit {
  kLowest,   ///< the first that is large enough
  kTightest  ///< the smallest that is large enough, else on top
};

/// Offsets of all buffers. Buffers with a fixed offset are placed first, wherever that is; a buffer
/// without bytes or lifetime gets offset 0. Sums saturate at the largest int64_t.
[[nodiscard]] std::vector<int64_t> PlaceGreedily(const std::vector<Buffer>& buffers,
                                                 GreedyOrder order, GreedyFit fit);

/// The largest offset + size; saturates.
[[nodiscard]] int64_t Peak(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets);

}  // namespace tenon::converter
