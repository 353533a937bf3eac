// The JSON of what quantization came to.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "converter/quantize/quantize_model.hpp"

namespace tenon::converter {

/// Null where nothing was quantized. Keys: `samples`, `judged`, `equalized_by`, `ranges`,
/// `integer_layers`, `float_layers`, `kept_for_accuracy`, `goal{snr_db,lost_share}`, `reached`,
/// `worst_snr_db`, `outputs[{name,snr_db,largest_difference}]`, `top1{rows,same_as_float}` (null:
/// no classes), `labels{count,float_right,right}` (null: none),
/// `layers[{op,kind,integer,reason,snr_db}]`.
[[nodiscard]] nlohmann::ordered_json QuantizationJson(
    const std::optional<QuantizationReport>& report);

}  // namespace tenon::converter
