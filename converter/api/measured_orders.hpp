// Several orders are compiled, run on the target, and the fastest is kept
// (ConvertRequest::measured).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tenon/converter.hpp"

namespace tenon::converter {

struct MeasuredConversion {
  Conversion conversion;              ///< of the order kept
  std::vector<MeasuredOrder> orders;  ///< all, as they were made
};

/// Converts once per order (seeds options.compile.order.seed and on at random), measures equal
/// plans once, and keeps the one with the least latency; among equals the one with the smaller
/// arena, then the earlier. Orders that do not fit the board are dropped; if none fits, the
/// search's error is given. The mode of `options` is not read.
[[nodiscard]] Result<MeasuredConversion> ConvertMeasured(
    const ConvertOptions& options, const ConvertRequest::MeasuredOrders& measured);

/// `same_as` and `dropped` are there only where they say something.
[[nodiscard]] nlohmann::ordered_json MeasuredJson(const std::vector<MeasuredOrder>& measured);

}  // namespace tenon::converter
