// Compiles several orders, runs them on the target, and keeps the fastest
// (ConvertRequest::measured).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tenon/converter.hpp"

namespace tenon::converter {

struct MeasuredConversion {
  Conversion conversion;              ///< of the order kept
  std::vector<MeasuredOrder> orders;  ///< all orders, as they were compiled
};

/// Converts once per order (random ones take consecutive seeds from options.compile.order.seed);
/// half of those beyond the search's and the model's own are proposed from the times measured until
/// then, and the same times give the same proposals. Measures equal plans once, and keeps the one
/// with the least latency; among equals the one with the smaller arena, then the earlier. Orders
/// that do not fit the board are dropped; if none fits, the search's error is given. The order mode
/// in `options` is ignored.
[[nodiscard]] Result<MeasuredConversion> ConvertMeasured(
    const ConvertOptions& options, const ConvertRequest::MeasuredOrders& measured);

/// `same_as` and `dropped` are present only where they apply.
[[nodiscard]] nlohmann::ordered_json MeasuredJson(const std::vector<MeasuredOrder>& measured);

}  // namespace tenon::converter
