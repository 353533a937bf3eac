#include "converter/quantize/graph_runner.hpp"

#include <cstring>

#include "converter/emit/emit_plan.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/memory/arena_plan.hpp"
#include "converter/memory/locations.hpp"
#include "converter/passes/assign_layouts.hpp"
#include "converter/passes/isolate_outputs.hpp"
#include "converter/passes/lay_out_weights.hpp"
#include "tenon/tenon.h"

namespace tenon::converter {
namespace {

using Block = std::vector<std::max_align_t>;
Block MakeBlock(size_t bytes) { return Block(bytes / sizeof(std::max_align_t) + 1); }

struct PlanUnloader {
  void operator()(tenon_plan* plan) const { tenon_plan_unload(plan); }
};
struct SessionCloser {
  void operator()(tenon_session* session) const { tenon_session_close(session); }
};

Result<std::vector<uint8_t>> CompileForHost(Graph& graph) {
  PassReport ignored;
  if (Status status = IsolateOutputs(graph, ignored); !status.ok()) return status;
  TENON_ASSIGN_OR_RETURN(const auto mapping, ChooseKernels(graph, KernelChoiceOptions{}));
  (void)mapping;
  if (Status status = AssignLayouts(graph, ignored); !status.ok()) return status;
  if (Status status = LayOutWeights(graph, ignored); !status.ok()) return status;
  TENON_ASSIGN_OR_RETURN(const Locations locations, AssignLocations(graph, ignored));
  ArenaOptions arena_options;
  arena_options.work_budget = 0;
  const ArenaPlan arena = PlanArena(graph, locations, arena_options);
  return EmitPlan(graph, locations, arena, EmitOptions{});
}

}  // namespace

struct GraphRunner::State {
  Block file;
  Block memory;
  std::unique_ptr<tenon_plan, PlanUnloader> plan;
  std::unique_ptr<tenon_session, SessionCloser> session;  // closed before the plan
  std::vector<size_t> input_bytes;
  size_t graph_outputs = 0;

  [[nodiscard]] Span<const float> Output(size_t i) const {
    tenon_port_info info;
    if (tenon_plan_output(plan.get(), i, &info) != TENON_OK) return {};
    return {static_cast<const float*>(tenon_session_output(session.get(), i)),
            info.bytes / sizeof(float)};
  }
};

GraphRunner::GraphRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
GraphRunner::GraphRunner(GraphRunner&&) noexcept = default;
GraphRunner& GraphRunner::operator=(GraphRunner&&) noexcept = default;
GraphRunner::~GraphRunner() = default;

Result<GraphRunner> GraphRunner::Make(Graph graph, const std::vector<TensorId>& wanted) {
  auto state = std::make_unique<State>();
  state->graph_outputs = graph.outputs().size();
  for (const TensorId id : wanted) {
    graph.AddOutput(id, fmt::format("{}/wanted_{}", graph.tensor(id).name, id));
  }
  for (const Graph::Port& port : graph.inputs()) {
    state->input_bytes.push_back(static_cast<size_t>(graph.tensor(port.tensor).ByteSize()));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, CompileForHost(graph));
  state->file = MakeBlock(bytes.size());
  std::memcpy(state->file.data(), bytes.data(), bytes.size());
  const void* file = state->file.data();
  tenon_error error{};
  const auto failed = [&] { return InternalError("calibration: {}", error.message); };
  size_t scratch_bytes = 0;
  size_t state_bytes = 0;
  if (tenon_plan_scratch_size(file, bytes.size(), &scratch_bytes, &error) != TENON_OK ||
      tenon_plan_state_size(file, bytes.size(), &state_bytes, &error) != TENON_OK) {
    return failed();
  }
  Block scratch = MakeBlock(scratch_bytes);
  state->memory = MakeBlock(state_bytes);
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  if (tenon_plan_load(file, bytes.size(), &backends, 1, state->memory.data(), state_bytes,
                      scratch.data(), scratch_bytes, &plan, &error) != TENON_OK) {
    return failed();
  }
  state->plan.reset(plan);
  tenon_session* session = nullptr;
  if (tenon_session_open(plan, &session, &error) != TENON_OK) return failed();
  state->session.reset(session);
  return GraphRunner(std::move(state));
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
    std::memcpy(tenon_session_input(state_->session.get(), i), sample[i].data(), sample[i].size());
  }
  tenon_error error{};
  if (tenon_session_run(state_->session.get(), &error) != TENON_OK) {
    return InputError("a calibration sample cannot be run: {}", error.message);
  }
  return {};
}

Span<const float> GraphRunner::Output(size_t i) const { return state_->Output(i); }
Span<const float> GraphRunner::Wanted(size_t i) const {
  return state_->Output(state_->graph_outputs + i);
}

}  // namespace tenon::converter
