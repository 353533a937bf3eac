#include "converter/fold/fold_tensors.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "converter/emit/emit_plan.hpp"
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
    int64_t bytes = 0;  // of all that is computed, although not all of it is held at once
    for (const OpId id : graph_.OpOrder()) {
      if (!needed_.contains(id)) continue;
      for (const TensorId output : graph_.op(id).outputs) bytes += graph_.tensor(output).ByteSize();
      TENON_RETURN_IF_ERROR(CheckConstantLimit(graph_, bytes, graph_.op(id).name));
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
            copy_.AddConstant(tensor.name, tensor.dtype, tensor.shape, tensor.constant);
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

/// Runs the plan and returns each output's bytes.
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
  LowerOptions portable;
  portable.kernels.portable_only = true;
  portable.layouts = false;
  TENON_ASSIGN_OR_RETURN(const std::vector<uint8_t> plan, LowerAndEmit(subgraph, portable));
  TENON_ASSIGN_OR_RETURN(auto values, Evaluate(plan));
  for (size_t i = 0; i < wanted.size(); ++i) graph.MakeConstant(wanted[i], std::move(values[i]));
  return {};
}

}  // namespace tenon::converter
