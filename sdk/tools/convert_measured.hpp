// `convert --order=measured`: several orders are compiled, run on the target, and the fastest is
// kept.
#pragma once

#include <functional>
#include <vector>

#include "converter/report/decisions.hpp"
#include "sdk/tools/measure_target.hpp"

namespace tenon::tool {

struct MeasureOptions {
  TargetOptions target;
  int orders = 6;  ///< candidates: the model's own, the search's, the rest at random; at least 1
  int rounds = 3;  ///< in which they are measured by turns
};

struct MeasuredConversion {
  converter::Conversion conversion;                  ///< the candidate kept
  std::vector<converter::MeasuredOrder> candidates;  ///< all, in the order they were made
};

/// Converts once per candidate (seeds options.seed, options.seed + 1, ... at random), measures
/// equal plans once, and keeps the one with the least latency; among equals the one with the
/// smaller arena, then the earlier. Candidates that do not fit the board are dropped; if none fits,
/// the search's error is thrown. `options.order` is not read. Throws Failure.
[[nodiscard]] MeasuredConversion ConvertMeasured(const converter::ConvertOptions& options,
                                                 const MeasureOptions& measure);

}  // namespace tenon::tool
