#include "tests/unit/converter/import/onnx/evaluate.hpp"

#include <set>
#include <string_view>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter::test {
namespace {

/// Operands of one op with data, as a kernel wants them.
struct Operands {
  Operands(const Graph& graph, const Op& op, Values& values) {
    std::vector<TensorId> ids = op.inputs;
    ids.insert(ids.end(), op.outputs.begin(), op.outputs.end());
    views.resize(ids.size());
    shapes.resize(ids.size());
    strides.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool is_input = i < op.inputs.size();
      (is_input ? inputs : outputs).push_back(ids[i] == kNone ? -1 : static_cast<int32_t>(i));
      if (ids[i] == kNone) continue;
      const Tensor& tensor = graph.tensor(ids[i]);
      shapes[i] = tensor.shape;
      strides[i] = DenseStrides(tensor.shape, Layout::kRowMajor);
      // One byte more than needed, so that empty tensors have an address too.
      std::vector<std::byte>& bytes = values[ids[i]];
      if (tensor.IsConstant()) bytes = *tensor.constant;
      bytes.resize(static_cast<size_t>(tensor.ByteSize()));
      bytes.reserve(bytes.size() + 1);
      views[i] = {bytes.data(), shapes[i].dims, strides[i].data(), tensor.dtype,
                  static_cast<uint8_t>(tensor.shape.rank)};
    }
    attributes = op.attributes.words();
    attributes.resize(attributes.size() + 1);
  }

  [[nodiscard]] OpCall Call() const {
    return {views.data(),
            {inputs.data(), inputs.size()},
            {outputs.data(), outputs.size()},
            attributes.data()};
  }

  std::vector<TensorView> views;
  std::vector<Shape> shapes;
  std::vector<std::vector<int32_t>> strides;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<int32_t> attributes;
};

size_t WorkspaceBytes(std::string_view kernel, const OpCall& call) {
  for (const cpu::KernelCaps& caps : cpu::Kernels()) {
    if (kernel == caps.id && caps.workspace_bytes != nullptr) return caps.workspace_bytes(call, 1);
  }
  return 0;
}

Status RunOp(const Graph& graph, const Op& op, Values& values) {
  const Operands operands(graph, op, values);
  const OpCall call = operands.Call();
  for (const KernelEntry& kernel : cpu::CpuPortableBackend().kernels) {
    if (kernel.row->kind != op.kind) continue;
    std::vector<std::byte> workspace(WorkspaceBytes(kernel.id, call) + 64);
    const KernelSetup setup{call, workspace.size(), 1};
    if (!kernel.check(setup).ok()) continue;
    const tenon::Status status =
        kernel.run({call, workspace.data(), workspace.size(), nullptr, nullptr});
    if (status.ok()) return {};
    return InternalError("{}: {}", op.name, ToString(status));
  }
  return InternalError("{}: no portable kernel runs it", op.name);
}

}  // namespace

Status Evaluate(const Graph& graph, const std::vector<TensorId>& wanted, Values& values) {
  std::set<TensorId> needed(wanted.begin(), wanted.end());
  const std::vector<OpId> order = graph.OpOrder();
  std::vector<OpId> run;
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    bool is_needed = false;
    for (TensorId output : graph.op(*op).outputs) is_needed |= needed.contains(output);
    if (!is_needed) continue;
    run.push_back(*op);
    needed.insert(graph.op(*op).inputs.begin(), graph.op(*op).inputs.end());
  }
  for (auto op = run.rbegin(); op != run.rend(); ++op) {
    TENON_RETURN_IF_ERROR(RunOp(graph, graph.op(*op), values));
  }
  return {};
}

Status FoldWithPortableKernels(Graph& graph, const std::vector<TensorId>& tensors) {
  Values values;
  TENON_RETURN_IF_ERROR(Evaluate(graph, tensors, values));
  for (TensorId id : tensors) {
    if (!graph.tensor(id).IsConstant()) graph.MakeConstant(id, values[id]);
  }
  return {};
}

}  // namespace tenon::converter::test
