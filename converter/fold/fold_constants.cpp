#include "converter/fold/fold_constants.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "converter/emit/emit_plan.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/measure/host_session.hpp"

namespace tenon::converter {
namespace {

/// Copies the ops that `wanted` depend on into a graph of their own, whose outputs are `wanted`.
class SubgraphCopy {
 public:
  SubgraphCopy(const Graph& graph, const std::vector<TensorId>& wanted) : graph_(graph) {
    for (const TensorId id : wanted) Need(id);
  }

  Result<Graph> Copy(const std::vector<TensorId>& wanted) {
    for (const OpId id : graph_.OpOrder()) {
      if (!needed_.contains(id)) continue;
      TENON_RETURN_IF_ERROR(CopyOp(id));
    }
    for (const TensorId id : wanted) copy_.AddOutput(copied_.at(id), graph_.tensor(id).name);
    return std::move(copy_);
  }

 private:
  void Need(TensorId first) {
    std::vector<TensorId> open{first};
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      const OpId producer = graph_.tensor(id).producer;
      if (graph_.tensor(id).IsConstant() || producer == kNone) continue;
      if (!needed_.insert(producer).second) continue;
      for (const TensorId input : graph_.op(producer).inputs) {
        if (input != kNone) open.push_back(input);
      }
    }
  }

  Status CopyOp(OpId id) {
    const Op& op = graph_.op(id);
    std::vector<TensorId> inputs;
    for (const TensorId input : op.inputs) {
      if (input != kNone && !copied_.contains(input)) {
        const Tensor& tensor = graph_.tensor(input);
        if (!tensor.IsConstant()) {
          return InputError("{}: depends on the graph input '{}'", op.name, tensor.name);
        }
        copied_[input] =
            copy_.AddConstant(tensor.name, tensor.dtype, tensor.shape, *tensor.constant);
      }
      inputs.push_back(input == kNone ? kNone : copied_.at(input));
    }
    TENON_ASSIGN_OR_RETURN(const OpId added, copy_.AddOp(op.kind, op.name, inputs, op.attributes));
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      copied_[op.outputs[i]] = copy_.op(added).outputs[i];
    }
    return {};
  }

  const Graph& graph_;
  std::set<OpId> needed_;
  Graph copy_;
  std::map<TensorId, TensorId> copied_;
};

Result<std::vector<uint8_t>> CompilePortable(Graph& graph) {
  KernelChoiceOptions options;
  options.portable_only = true;
  TENON_ASSIGN_OR_RETURN(const auto mapping, ChooseKernels(graph, options));
  (void)mapping;
  PassReport ignored;
  TENON_ASSIGN_OR_RETURN(const Locations locations, AssignLocations(graph, ignored));
  ArenaOptions arena_options;
  arena_options.place.work_budget = 0;
  const ArenaPlan arena = PlanArena(graph, locations, arena_options);
  return EmitPlan(graph, locations, arena, EmitOptions{});
}

/// Runs the plan and gives each output's bytes.
Result<std::vector<std::vector<std::byte>>> Evaluate(const std::vector<uint8_t>& plan) {
  TENON_ASSIGN_OR_RETURN(HostSession session, HostSession::Open(plan, HostKernels::kPortable));
  TENON_RETURN_IF_ERROR(session.Run());
  std::vector<std::vector<std::byte>> outputs;
  for (size_t i = 0; i < session.output_count(); ++i) {
    const Span<const std::byte> data = session.Output(i);
    outputs.emplace_back(data.begin(), data.end());
  }
  return outputs;
}

/// Folding makes the plan larger: not worth it for a big result that is cheap to make.
bool GrowsTooMuch(const Graph& graph, const Op& op) {
  constexpr int64_t kSmall = int64_t{1} << 20;
  int64_t in = 0;
  int64_t out = 0;
  for (const TensorId id : op.inputs) {
    if (id != kNone) in += graph.tensor(id).ByteSize();
  }
  for (const TensorId id : op.outputs) out += graph.tensor(id).ByteSize();
  return out > kSmall && out > 4 * in;
}

}  // namespace

Status FoldTensors(Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<TensorId> wanted;
  for (const TensorId id : tensors) {
    const bool known = std::find(wanted.begin(), wanted.end(), id) != wanted.end();
    if (!graph.tensor(id).IsConstant() && !known) wanted.push_back(id);
  }
  for (const TensorId id : wanted) {
    if (graph.tensor(id).producer == kNone) {
      return InputError("'{}' is a graph input: its value is not known", graph.tensor(id).name);
    }
  }
  if (wanted.empty()) return {};
  TENON_ASSIGN_OR_RETURN(Graph subgraph, SubgraphCopy(graph, wanted).Copy(wanted));
  TENON_ASSIGN_OR_RETURN(const std::vector<uint8_t> plan, CompilePortable(subgraph));
  TENON_ASSIGN_OR_RETURN(auto values, Evaluate(plan));
  for (size_t i = 0; i < wanted.size(); ++i) graph.MakeConstant(wanted[i], std::move(values[i]));
  return {};
}

namespace {

Status Fold(Graph& graph, bool dequantizes, PassReport& report) {
  std::set<TensorId> constant;
  std::vector<TensorId> wanted;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const bool all_constant = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return input == kNone || graph.tensor(input).IsConstant() || constant.contains(input);
    });
    if (!all_constant || op.inputs.empty()) continue;
    if (op.kind == OpKind::kDequantize && !dequantizes) continue;
    if (GrowsTooMuch(graph, op)) {
      report.declined.push_back({op.name, "its constant result would be large"});
      continue;
    }
    constant.insert(op.outputs.begin(), op.outputs.end());
  }
  // Only what something else reads need be stored.
  for (const TensorId id : constant) {
    if (graph.tensor(id).IsConstant()) continue;
    const std::vector<OpId> readers = graph.Consumers(id);
    const bool read_outside = std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
      return !constant.contains(graph.op(reader).outputs[0]);
    });
    if (read_outside || graph.IsOutput(id)) wanted.push_back(id);
  }
  report.changed = static_cast<int>(wanted.size());
  return FoldTensors(graph, wanted);
}

}  // namespace

Status FoldConstants(Graph& graph, PassReport& report) {
  return Fold(graph, /*dequantizes=*/true, report);
}

Status FoldQuantizedConstants(Graph& graph, PassReport& report) {
  return Fold(graph, /*dequantizes=*/false, report);
}

}  // namespace tenon::converter
