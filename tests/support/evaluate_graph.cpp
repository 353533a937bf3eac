#include "tests/support/evaluate_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_backend.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using converter::kNone;
using converter::Op;
using converter::Tensor;
using converter::TensorId;

class Evaluator {
 public:
  explicit Evaluator(const Graph& graph) : graph_(graph) {}

  Evaluation Run(const std::vector<std::vector<std::byte>>& inputs) {
    for (const TensorId id : graph_.Tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      std::vector<std::byte>& bytes = result_.values[id];
      if (tensor.IsConstant()) bytes = *tensor.constant;
      bytes.resize(static_cast<size_t>(tensor.ByteSize()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      result_.values[graph_.inputs()[i].tensor] = inputs[i];
    }
    for (const converter::OpId id : graph_.OpOrder()) {
      if (!result_.error.empty()) break;
      RunOp(graph_.op(id));
    }
    for (const auto& [id, bytes] : result_.values) Measure(graph_.tensor(id), bytes);
    return std::move(result_);
  }

 private:
  void RunOp(const Op& op) {
    std::vector<TensorId> ids = op.inputs;
    ids.insert(ids.end(), op.outputs.begin(), op.outputs.end());
    std::vector<TensorView> views(ids.size());
    std::vector<Shape> shapes(ids.size());
    std::vector<std::vector<int32_t>> strides(ids.size());
    std::vector<int32_t> in;
    std::vector<int32_t> out;
    for (size_t i = 0; i < ids.size(); ++i) {
      (i < op.inputs.size() ? in : out).push_back(ids[i] == kNone ? -1 : static_cast<int32_t>(i));
      if (ids[i] == kNone) continue;
      const Tensor& tensor = graph_.tensor(ids[i]);
      shapes[i] = tensor.shape;
      strides[i] = DenseStrides(tensor.shape, converter::Layout::kRowMajor);
      views[i] = {Data(ids[i]), shapes[i].dims, strides[i].data(), tensor.dtype,
                  static_cast<uint8_t>(tensor.shape.rank)};
    }
    const std::vector<int32_t>& words = op.attributes.words();
    Execute(op,
            OpCall{views.data(), {in.data(), in.size()}, {out.data(), out.size()}, words.data()});
  }

  /// Never null: empty tensors have an address too.
  void* Data(TensorId id) {
    static std::byte empty[16];
    std::vector<std::byte>& bytes = result_.values[id];
    return bytes.empty() ? empty : bytes.data();
  }

  void Execute(const Op& op, const OpCall& call) {
    for (const KernelEntry& kernel : cpu::CpuPortableBackend().kernels) {
      if (kernel.row->kind != op.kind) continue;
      Status status = kernel.check({call, 0, 1});
      if (status.ok()) status = kernel.run({call, nullptr, 0, nullptr, nullptr});
      if (!status.ok()) result_.error = op.name + ": " + converter::ToString(status);
      return;
    }
    result_.error = op.name + ": no portable kernel";
  }

  void Measure(const Tensor& tensor, const std::vector<std::byte>& bytes) {
    if (tensor.dtype != DType::kF32) return;
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      if (std::isfinite(value)) {
        result_.largest = std::max(result_.largest, std::abs(static_cast<double>(value)));
      }
    }
  }

  const Graph& graph_;
  Evaluation result_;
};

}  // namespace

Evaluation EvaluateGraph(const Graph& graph, const std::vector<std::vector<std::byte>>& inputs) {
  return Evaluator(graph).Run(inputs);
}

}  // namespace tenon::test
