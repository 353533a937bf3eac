// Samples of what a model keeps from step to step, for quantizing it.
#pragma once

#include <vector>

#include "converter/quantize/calibration.hpp"

namespace tenon::converter {

/// Adds an array for every state's input that has none: the samples of the other inputs are taken
/// for successive steps, and the float model's states in them are its samples. `graph` has the
/// states as ports only. Errors (kUsage): no samples to take steps from, states that are not f32;
/// those of MakeCalibration and GraphRunner.
[[nodiscard]] Status AddStateSamples(const Graph& graph, const std::vector<Graph::State>& states,
                                     std::vector<CalibrationArray>& arrays);

}  // namespace tenon::converter
