// Reports every decision and every prediction of a conversion as JSON (`convert --json`).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "converter/driver/parallel_programs.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/quantize/quantize_model.hpp"

namespace tenon::converter {

/// "source", "search" or "random".
[[nodiscard]] const char* Name(OrderMode mode);

[[nodiscard]] nlohmann::ordered_json DecisionsJson(const Conversion& conversion);

// Reports the predictions for each way of using several threads and devices, as JSON.

/// {mode, reason, replicas, candidates[{mode, why_not | threads, latency_ms, throughput_per_s,
/// arena_bytes}], pipeline{stages[], channels[], ...} or null, inter_ms or null}; null where
/// nothing could run concurrently.
[[nodiscard]] nlohmann::ordered_json ParallelJson(const ParallelReport& report);

/// Returns the results per second of the chosen program; 0: there was no choice.
[[nodiscard]] double PredictedThroughput(const ParallelReport& report);

// Reports the results of quantization as JSON.

/// Null where nothing was quantized. Keys: `samples`, `judged`, `equalized_by`, `ranges`,
/// `integer_layers`, `float_layers`, `kept_for_accuracy`, `goal{snr_db,lost_share}`, `reached`,
/// `worst_snr_db`, `outputs[{name,snr_db,largest_difference}]`, `top1{rows,same_as_float}` (null:
/// no classes), `labels{count,float_right,right}` (null: none),
/// `layers[{op,kind,integer,reason,snr_db}]`.
[[nodiscard]] nlohmann::ordered_json QuantizationJson(
    const std::optional<QuantizationReport>& report);

// Reports the predictions for each way of using several threads and devices, as JSON.

/// {mode, reason, replicas, candidates[{mode, why_not | threads, latency_ms, throughput_per_s,
/// arena_bytes}], pipeline{stages[], channels[], ...} or null, inter_ms or null}; null where
/// nothing could run concurrently.
[[nodiscard]] nlohmann::ordered_json ParallelJson(const ParallelReport& report);

/// Returns the results per second of the chosen program; 0: there was no choice.
[[nodiscard]] double PredictedThroughput(const ParallelReport& report);

// Reports the results of quantization as JSON.

/// Null where nothing was quantized. Keys: `samples`, `judged`, `equalized_by`, `ranges`,
/// `integer_layers`, `float_layers`, `kept_for_accuracy`, `goal{snr_db,lost_share}`, `reached`,
/// `worst_snr_db`, `outputs[{name,snr_db,largest_difference}]`, `top1{rows,same_as_float}` (null:
/// no classes), `labels{count,float_right,right}` (null: none),
/// `layers[{op,kind,integer,reason,snr_db}]`.
[[nodiscard]] nlohmann::ordered_json QuantizationJson(
    const std::optional<QuantizationReport>& report);

}  // namespace tenon::converter
