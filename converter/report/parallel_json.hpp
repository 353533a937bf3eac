// What was predicted of each way of using several threads and devices, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "converter/driver/parallel_programs.hpp"

namespace tenon::converter {

/// {mode, reason, replicas, candidates[{mode, why_not | threads, latency_ms, throughput_per_s,
/// arena_bytes}], pipeline{stages[], channels[], ...} or null, inter_ms or null}; null where
/// nothing could run beside anything else.
[[nodiscard]] nlohmann::ordered_json ParallelJson(const ParallelReport& report);

/// Results per second of the way that was chosen; 0: nothing was to be chosen.
[[nodiscard]] double PredictedThroughput(const ParallelReport& report);

}  // namespace tenon::converter
