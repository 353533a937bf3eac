#include <unordered_set>

#include "converter/ir/graph.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

// Reports a graph that breaks a rule: the pass or importer that made it is wrong, never the user.
template <typename... Args>
Error Broken(fmt::format_string<Args...> format, Args&&... args) {
  return InternalError("graph is broken: {}", fmt::format(format, std::forward<Args>(args)...));
}

Status VerifyTensor(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (tensor.name.empty()) return Broken("tensor {} has no name", id);
  if (graph.FindTensor(tensor.name) != id) {
    return Broken("the name \"{}\" of tensor {} is taken or was changed behind the graph's back",
                  tensor.name, id);
  }
  if (!IsValidDType(static_cast<int>(tensor.dtype))) {
    return Broken("%{} has no valid dtype", tensor.name);
  }
  if (!tensor.shape.IsValid()) return Broken("%{} has no valid shape", tensor.name);
  if (tensor.IsConstant()) {
    const auto size = static_cast<int64_t>(tensor.constant->size());
    if (size != tensor.ByteSize()) {
      return Broken("constant %{} holds {} bytes, its type needs {}", tensor.name, size,
                    tensor.ByteSize());
    }
    if (tensor.producer != kNone) return Broken("constant %{} has a producer", tensor.name);
    if (graph.IsInput(id)) return Broken("constant %{} is a graph input", tensor.name);
  }
  if (graph.IsInput(id) && tensor.producer != kNone) {
    return Broken("input %{} has a producer", tensor.name);
  }
  const bool has_source = tensor.IsConstant() || graph.IsInput(id) || tensor.producer != kNone;
  if (!has_source && graph.IsRead(id)) return Broken("%{} is read but never written", tensor.name);
  if (tensor.producer != kNone) {
    if (!graph.IsOp(tensor.producer)) return Broken("%{}: its producer is gone", tensor.name);
    const std::vector<TensorId>& outputs = graph.op(tensor.producer).outputs;
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) {
      return Broken("%{} names a producer that does not write it", tensor.name);
    }
  }
  return Status();
}

Status VerifyOutputs(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  for (TensorId output : op.outputs) {
    if (!graph.IsTensor(output)) return Broken("\"{}\" writes a tensor that is gone", op.name);
    const Tensor& tensor = graph.tensor(output);
    if (tensor.IsConstant()) return Broken("\"{}\" writes constant %{}", op.name, tensor.name);
    if (graph.IsInput(output)) return Broken("\"{}\" writes input %{}", op.name, tensor.name);
    if (tensor.producer != id) {
      return Broken("\"{}\" writes %{}, which has another producer", op.name, tensor.name);
    }
  }
  return Status();
}

// `done` says of each op whether it comes earlier in the order.
Status VerifyOp(const Graph& graph, OpId id, const std::vector<bool>& done) {
  const Op& op = graph.op(id);
  if (static_cast<int>(op.kind) >= kOpKindCount) return Broken("\"{}\" has no valid kind", op.name);
  const OpRow& row = GetOpRow(op.kind);
  for (TensorId input : op.inputs) {
    if (input == kNone) continue;
    if (!graph.IsTensor(input)) return Broken("\"{}\" reads a tensor that is gone", op.name);
    const OpId producer = graph.tensor(input).producer;
    if (graph.IsOp(producer) && !done[static_cast<size_t>(producer)]) {
      return Broken("\"{}\" stands before the producer of %{}", op.name, graph.tensor(input).name);
    }
  }
  TENON_RETURN_IF_ERROR(VerifyOutputs(graph, id));
  if (op.attributes.words().size() != row.attribute_words) {
    return Broken("\"{}\" has {} attribute words, {} has {}", op.name, op.attributes.words().size(),
                  row.name, row.attribute_words);
  }
  const tenon::Status checked = CheckOpCall(row, OpCallView(graph, op).call());
  if (!checked.ok()) return Broken("{} \"{}\": {}", row.name, op.name, ToString(checked));
  return Status();
}

Status VerifyOrder(const Graph& graph, size_t slots) {
  const std::vector<OpId> order = graph.OpOrder();
  std::vector<bool> done(slots, false);
  for (OpId id : order) {
    if (!graph.IsOp(id)) return Broken("the order names op {}, which is gone", id);
    if (done[static_cast<size_t>(id)]) {
      return Broken("\"{}\" stands twice in the order", graph.op(id).name);
    }
    TENON_RETURN_IF_ERROR(VerifyOp(graph, id, done));
    done[static_cast<size_t>(id)] = true;
  }
  for (size_t i = 0; i < slots; ++i) {
    const auto id = static_cast<OpId>(i);
    if (graph.IsOp(id) && !done[i]) {
      return Broken("\"{}\" is missing from the order", graph.op(id).name);
    }
  }
  return Status();
}

Status VerifyPorts(const Graph& graph, const std::vector<Graph::Port>& ports, const char* what) {
  std::unordered_set<std::string_view> names;
  for (const Graph::Port& port : ports) {
    if (!graph.IsTensor(port.tensor)) {
      return Broken("{} \"{}\" points to a tensor that is gone", what, port.name);
    }
    if (port.name.empty()) return Broken("an {} has no name", what);
    if (!names.insert(port.name).second)
      return Broken("two {}s are called \"{}\"", what, port.name);
  }
  return Status();
}

Status VerifyState(const Graph& graph, const Graph::State& state) {
  const Graph::Port* input = graph.FindPort(/*output=*/false, state.input);
  const Graph::Port* output = graph.FindPort(/*output=*/true, state.output);
  if (input == nullptr || output == nullptr) {
    return Broken("state \"{}\" = \"{}\" names no input or no output", state.input, state.output);
  }
  const Tensor& read = graph.tensor(input->tensor);
  const Tensor& write = graph.tensor(output->tensor);
  if (read.dtype != write.dtype || !(read.shape == write.shape)) {
    return Broken("state \"{}\" = \"{}\" ties two types", state.input, state.output);
  }
  if (state.initial != nullptr && static_cast<int64_t>(state.initial->size()) != read.ByteSize()) {
    return Broken("state \"{}\" begins with {} bytes of {}", state.input, state.initial->size(),
                  read.ByteSize());
  }
  return Status();
}

}  // namespace

Status Verify(const Graph& graph) {
  graph.Sync();
  TENON_RETURN_IF_ERROR(VerifyPorts(graph, graph.inputs(), "input"));
  TENON_RETURN_IF_ERROR(VerifyPorts(graph, graph.outputs(), "output"));
  for (const Graph::State& state : graph.states) TENON_RETURN_IF_ERROR(VerifyState(graph, state));
  std::unordered_set<TensorId> fed;
  for (const Graph::Port& port : graph.inputs()) {
    if (!fed.insert(port.tensor).second) {
      return Broken("two inputs feed %{}", graph.tensor(port.tensor).name);
    }
  }
  for (const Graph::OpSlot& slot : graph.ops_) {
    if (slot.alive && !Graph::IsIndexed(slot)) {
      return Broken("inputs of \"{}\" were changed through an old reference", slot.op.name);
    }
  }
  for (TensorId id : graph.Tensors()) TENON_RETURN_IF_ERROR(VerifyTensor(graph, id));
  return VerifyOrder(graph, graph.ops_.size());
}

}  // namespace tenon::converter
