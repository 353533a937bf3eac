// When the ops of a plan are predicted to run, as its conversion predicted it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tool {

struct PredictedTime {
  double start_ms = 0;
  double ms = 0;
  bool is_known = false;  ///< false: the plan does not record it
};

/// By op of the plan's first program, in milliseconds, each alone on its unit with the layouts and
/// views of the plan; none where the plan records no decisions.
[[nodiscard]] std::vector<std::optional<double>> PredictedOps(const nlohmann::ordered_json& plan);

/// By op of the plan's first program; empty where the plan records no decisions. Each op takes what
/// PredictedOps says and begins when its worker is free and what its step waits for is over. Starts
/// of devices, transfers between memories and shared bandwidth, which the predicted latency has,
/// are not in it.
[[nodiscard]] std::vector<PredictedTime> PredictedTimes(const nlohmann::ordered_json& plan);

/// The worker of each op; empty where it has no name.
[[nodiscard]] std::vector<std::string> WorkersOfOps(const nlohmann::ordered_json& plan);

}  // namespace tenon::tool
