// Computes placements fast: places buffers one after another, each into the gap that suits it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "converter/solve/place/place.hpp"

namespace tenon::converter {

/// Selects the order in which buffers are placed; ties are broken by size, then by index.
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

/// Selects the gap between the buffers already placed into which the next one goes.
enum class GreedyFit {
  kLowest,   ///< the first that is large enough
  kTightest  ///< the smallest that is large enough, else on top
};

/// Returns the offsets of all buffers. Buffers with a fixed offset are placed first, wherever that
/// is; a buffer without bytes or lifetime gets offset 0. Sums saturate at the largest int64_t.
[[nodiscard]] std::vector<int64_t> PlaceGreedily(const std::vector<Buffer>& buffers,
                                                 GreedyOrder order, GreedyFit fit);

/// Returns the largest offset + size; saturates.
[[nodiscard]] int64_t Peak(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets);

}  // namespace tenon::converter
