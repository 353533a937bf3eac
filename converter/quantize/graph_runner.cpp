#include "converter/quantize/graph_runner.hpp"

#include <cstring>

#include "converter/emit/emit_plan.hpp"
#include "converter/measure/host_session.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {

struct GraphRunner::State {
  HostSession session;
  std::vector<size_t> input_bytes;
  size_t graph_outputs = 0;

  [[nodiscard]] Span<const float> Output(size_t i) const {
    const Span<const std::byte> bytes = session.Output(i);
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
};

GraphRunner::GraphRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
GraphRunner::GraphRunner(GraphRunner&&) noexcept = default;
GraphRunner& GraphRunner::operator=(GraphRunner&&) noexcept = default;
GraphRunner::~GraphRunner() = default;

Result<GraphRunner> GraphRunner::Make(Graph graph, const std::vector<TensorId>& wanted) {
  const size_t graph_outputs = graph.outputs().size();
  for (const TensorId id : wanted) {
    graph.AddOutput(id, fmt::format("{}/wanted_{}", graph.tensor(id).name, id));
  }
  std::vector<size_t> input_bytes;
  for (const Graph::Port& port : graph.inputs()) {
    input_bytes.push_back(static_cast<size_t>(graph.tensor(port.tensor).ByteSize()));
  }
  PassContext isolating;
  TENON_RETURN_IF_ERROR(IsolateOutputs(graph, isolating));
  TENON_ASSIGN_OR_RETURN(const std::vector<uint8_t> plan, LowerAndEmit(graph, LowerOptions{}));
  TENON_ASSIGN_OR_RETURN(HostSession session, HostSession::Open(plan, HostKernels::kAll));
  return GraphRunner(
      std::make_unique<State>(State{std::move(session), std::move(input_bytes), graph_outputs}));
}

Status GraphRunner::Run(const Sample& sample) {
  if (sample.size() != state_->input_bytes.size()) {
    return UsageError("a sample has {} arrays, the model {} inputs", sample.size(),
                      state_->input_bytes.size());
  }
  for (size_t i = 0; i < sample.size(); ++i) {
    if (sample[i].size() != state_->input_bytes[i]) {
      return UsageError("a sample's array {} has {} bytes, the input {}", i, sample[i].size(),
                        state_->input_bytes[i]);
    }
    if (sample[i].empty()) continue;
    std::memcpy(state_->session.Input(i), sample[i].data(), sample[i].size());
  }
  if (const Status status = state_->session.Run(); !status.ok()) {
    return InputError("a calibration sample cannot be run: {}", status.error().message);
  }
  return {};
}

Span<const float> GraphRunner::Output(size_t i) const { return state_->Output(i); }
Span<const float> GraphRunner::Wanted(size_t i) const {
  return state_->Output(state_->graph_outputs + i);
}

}  // namespace tenon::converter
