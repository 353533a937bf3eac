#include "converter/driver/tie_states.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

std::string TypeOf(const Tensor& tensor) {
  std::vector<int32_t> dims(tensor.shape.dims, tensor.shape.dims + tensor.shape.rank);
  return fmt::format("{}[{}]", DTypeName(tensor.dtype), fmt::join(dims, ","));
}

Result<Graph::Port> FindPort(const Graph& graph, bool output, const std::string& name) {
  if (const Graph::Port* port = graph.FindPort(output, name)) return *port;
  std::vector<std::string> known;
  for (const Graph::Port& port : output ? graph.outputs() : graph.inputs()) {
    known.push_back(port.name);
  }
  return UsageError("--state: the model has no {} '{}' (it has {})", output ? "output" : "input",
                    name, fmt::join(known, ", "));
}

Status Tie(const TiedState& tie, Graph& graph) {
  TENON_ASSIGN_OR_RETURN(const Graph::Port output, FindPort(graph, /*output=*/true, tie.first));
  TENON_ASSIGN_OR_RETURN(const Graph::Port input, FindPort(graph, /*output=*/false, tie.second));
  for (const Graph::State& state : graph.states) {
    if (state.output == output.name || state.input == input.name) {
      return UsageError("--state {}={}: one of them is tied already", tie.first, tie.second);
    }
  }
  const Tensor& from = graph.tensor(output.tensor);
  const Tensor& to = graph.tensor(input.tensor);
  if (from.dtype != to.dtype || !(from.shape == to.shape)) {
    return UsageError("--state {}={}: the output is {}, the input {}", tie.first, tie.second,
                      TypeOf(from), TypeOf(to));
  }
  if (to.shape.Elements() == 0) {
    return UsageError("--state {}={}: there is nothing to keep in {}", tie.first, tie.second,
                      TypeOf(to));
  }
  graph.states.push_back({input.name, output.name, nullptr});
  return {};
}

}  // namespace

Status TieStates(const std::vector<TiedState>& ties, Graph& graph) {
  for (const TiedState& tie : ties) TENON_RETURN_IF_ERROR(Tie(tie, graph));
  return {};
}

}  // namespace tenon::converter
