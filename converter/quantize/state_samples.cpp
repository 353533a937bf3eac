#include "converter/quantize/state_samples.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::converter {
namespace {

/// Where a state stands among the graph's inputs and outputs, and its array.
struct StatePlace {
  size_t input;
  size_t output;
  size_t array;
};

size_t IndexOf(const std::vector<Graph::Port>& ports, const std::string& name) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const Graph::Port& port) { return port.name == name; });
  return static_cast<size_t>(found - ports.begin());
}

bool HasArray(const std::vector<CalibrationArray>& arrays, const std::string& port) {
  const std::string name = FileNameOf(port);
  return std::any_of(arrays.begin(), arrays.end(), [&](const CalibrationArray& array) {
    return array.name == name || array.name.starts_with(name + "_");
  });
}

/// Steps that the arrays of one input that is no state hold; 0 if there are none.
int64_t CountSteps(const Graph& graph, const std::vector<Graph::State>& states,
                   const std::vector<CalibrationArray>& arrays) {
  for (const Graph::Port& port : graph.inputs()) {
    const bool is_state = std::any_of(states.begin(), states.end(), [&](const Graph::State& state) {
      return state.input == port.name;
    });
    if (is_state) continue;
    int64_t steps = 0;
    const std::string name = FileNameOf(port.name);
    for (const CalibrationArray& array : arrays) {
      if (array.name != name && !array.name.starts_with(name + "_")) continue;
      steps += SamplesIn(array, graph.tensor(port.tensor));
    }
    if (steps > 0) return steps;
  }
  return 0;
}

}  // namespace

Status AddStateSamples(const Graph& graph, const std::vector<Graph::State>& states,
                       std::vector<CalibrationArray>& arrays) {
  const int64_t steps = CountSteps(graph, states, arrays);
  std::vector<StatePlace> places;
  for (const Graph::State& state : states) {
    if (HasArray(arrays, state.input)) continue;
    const size_t input = IndexOf(graph.inputs(), state.input);
    const Tensor& tensor = graph.tensor(graph.inputs()[input].tensor);
    if (steps == 0 || tensor.dtype != DType::kF32) {
      return UsageError("calibration: give samples for state '{}': they cannot be made of steps",
                        state.input);
    }
    CalibrationArray array{FileNameOf(state.input), tensor.dtype, {steps}, {}};
    array.shape.insert(array.shape.end(), tensor.shape.dims, tensor.shape.dims + tensor.shape.rank);
    array.bytes.resize(static_cast<size_t>(steps * tensor.ByteSize()));
    if (state.initial != nullptr) {
      std::copy(state.initial->begin(), state.initial->end(), array.bytes.begin());
    }
    places.push_back({input, IndexOf(graph.outputs(), state.output), arrays.size()});
    arrays.push_back(std::move(array));
  }
  if (places.empty()) return {};
  TENON_ASSIGN_OR_RETURN(CalibrationSet calibration, MakeCalibration(graph, arrays));
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(graph, {}));
  std::vector<Sample>& samples = calibration.samples;
  for (size_t step = 0; step + 1 < samples.size(); ++step) {
    TENON_RETURN_IF_ERROR(runner.Run(samples[step]));
    for (const StatePlace& place : places) {
      const Span<const float> next = runner.Output(place.output);
      std::vector<std::byte>& of_next_step = samples[step + 1][place.input];
      std::memcpy(of_next_step.data(), next.data(), of_next_step.size());
      std::copy(of_next_step.begin(), of_next_step.end(),
                arrays[place.array].bytes.begin() +
                    static_cast<std::ptrdiff_t>((step + 1) * of_next_step.size()));
    }
  }
  return {};
}

}  // namespace tenon::converter
