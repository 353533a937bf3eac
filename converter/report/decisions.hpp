// Every decision of a conversion and every figure that it predicts, as JSON (`convert --json`).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// An order that was tried on the target (`convert --order=measured`).
struct MeasuredOrder {
  OrderMode mode = OrderMode::kSearch;
  uint64_t seed = 0;
  std::optional<double> ms;            ///< median of a run; none if it was not measured
  std::optional<int64_t> arena_bytes;  ///< none if it does not fit
  std::optional<size_t> same_as;       ///< the earlier order, from 0, that gave the same plan
  std::string dropped;                 ///< why it was not measured; empty if it was
  bool chosen = false;
};

/// "source", "search" or "random".
[[nodiscard]] const char* Name(OrderMode mode);

/// `measured`: what was tried for this conversion, if orders were measured.
[[nodiscard]] nlohmann::ordered_json DecisionsJson(const Conversion& conversion,
                                                   const std::vector<MeasuredOrder>& measured = {});

}  // namespace tenon::converter
