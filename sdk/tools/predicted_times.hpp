// When the ops of a plan are predicted to run, by the costs that its conversion weighed.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::tool {

struct PredictedTime {
  double start_ms = 0;
  double ms = 0;
  bool is_known = false;  ///< false: the op was not weighed (a copy that the converter added)
};

/// What the chosen kernels were weighed with, in milliseconds, by name of op; empty where the plan
/// records no decisions.
[[nodiscard]] std::map<std::string, double> PredictedCosts(const nlohmann::ordered_json& plan);

/// By op of the plan's first program; empty where the plan records no decisions. Each op takes what
/// its chosen kernel was weighed with and begins when its worker is free and what its step waits
/// for is over. Starts of devices, transfers between memories and shared bandwidth, which the
/// predicted latency has, are not in it.
[[nodiscard]] std::vector<PredictedTime> PredictedTimes(const nlohmann::ordered_json& plan);

/// The worker of each op; empty where it has no name.
[[nodiscard]] std::vector<std::string> WorkersOfOps(const nlohmann::ordered_json& plan);

}  // namespace tenon::tool
