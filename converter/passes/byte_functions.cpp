#include "converter/passes/byte_functions.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kEntries = 256;
/// Limits the search for what ops have in common.
constexpr size_t kMostFunctionOps = 16;

/// Finds the tensor that a result is a function of, and the ops between them.
class FunctionRegionFinder {
 public:
  FunctionRegionFinder(const Graph& graph, TensorId result)
      : graph_(graph), result_(result), shape_(graph.tensor(result).shape) {}

  /// Returns the farthest such tensor, or kNone.
  TensorId Find() {
    Collect(result_);
    // Each candidate comes behind those that it is made of.
    for (const TensorId candidate : candidates_) {
      source_ = candidate;
      ops_.clear();
      if (candidate != result_ && Reaches(result_) && ops_.size() > 1) return candidate;
    }
    return kNone;
  }

  /// Each op of the region comes behind those that it reads.
  [[nodiscard]] const std::vector<OpId>& ops() const { return ops_; }

  [[nodiscard]] static bool IsScalar(const Tensor& tensor) {
    return tensor.IsConstant() && tensor.shape.Elements() == 1;
  }

 private:
  [[nodiscard]] bool IsOfBytes(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return IsByte(tensor.dtype) && tensor.shape == shape_ && !tensor.IsConstant();
  }

  /// Returns the op that makes the tensor, if it may be part of a region.
  [[nodiscard]] OpId MakerOf(TensorId id) const {
    const OpId producer = graph_.tensor(id).producer;
    if (producer == kNone) return kNone;
    const Op& op = graph_.op(producer);
    const bool is_lookup =
        op.kind == OpKind::kLookup && graph_.tensor(op.inputs[LookupInput::kTable]).IsConstant();
    return is_lookup || op.kind == OpKind::kQuantizedBinary ? producer : kNone;
  }

  /// Returns the inputs of an op that are no constants of its own: what a lookup reads its table by
  /// may be a constant too.
  [[nodiscard]] std::vector<TensorId> VariablesOf(OpId id) const {
    const Op& op = graph_.op(id);
    std::vector<TensorId> variables;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool is_table = op.kind == OpKind::kLookup && i == LookupInput::kTable;
      if (!is_table && !IsScalar(graph_.tensor(op.inputs[i]))) variables.push_back(op.inputs[i]);
    }
    return variables;
  }

  void Collect(TensorId id) {
    if (candidates_.size() >= kMostFunctionOps || !IsOfBytes(id) || Has(candidates_, id)) return;
    if (Has(seen_, id)) return;
    seen_.push_back(id);
    const OpId maker = seen_.size() < kMostFunctionOps ? MakerOf(id) : kNone;
    if (maker != kNone) {
      for (const TensorId input : VariablesOf(maker)) Collect(input);
    }
    candidates_.push_back(id);
  }

  /// Returns true if the tensor is a function of the source alone.
  bool Reaches(TensorId id) {
    if (id == source_) return true;
    if (!IsOfBytes(id)) return false;
    const OpId maker = MakerOf(id);
    if (maker == kNone) return false;
    if (std::find(ops_.begin(), ops_.end(), maker) != ops_.end()) return true;
    if (ops_.size() >= kMostFunctionOps) return false;
    for (const TensorId input : VariablesOf(maker)) {
      if (!Reaches(input)) return false;
    }
    ops_.push_back(maker);
    return true;
  }

  static bool Has(const std::vector<TensorId>& ids, TensorId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  const Graph& graph_;
  TensorId result_;
  Shape shape_;
  TensorId source_ = kNone;
  std::vector<TensorId> seen_;
  std::vector<TensorId> candidates_;
  std::vector<OpId> ops_;
};

std::vector<int32_t> AllBytes(DType dtype) {
  std::vector<int32_t> bytes;
  const int32_t least = dtype == DType::kI8 ? -128 : 0;
  for (size_t i = 0; i < kEntries; ++i) bytes.push_back(least + static_cast<int32_t>(i));
  return bytes;
}

std::vector<int32_t> IntegersOf(const Tensor& tensor) {
  std::vector<int32_t> integers;
  for (const double value : ReadElements(tensor)) integers.push_back(static_cast<int32_t>(value));
  return integers;
}

/// Returns the result for every byte.
Result<std::vector<int32_t>> RunRegion(const Graph& graph, const std::vector<OpId>& ops,
                                       TensorId source, TensorId result,
                                       const ConstantFolder& fold) {
  Graph copy;
  std::map<TensorId, TensorId> copied;
  const DType dtype = graph.tensor(source).dtype;
  copied[source] = AddIntegers(copy, "x", dtype, AllBytes(dtype));
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    std::vector<TensorId> inputs;
    for (const TensorId input : op.inputs) {
      const auto found = copied.find(input);
      if (found != copied.end()) {
        inputs.push_back(found->second);
      } else {
        const Tensor& constant = graph.tensor(input);
        inputs.push_back(AddIntegers(copy, "constant", constant.dtype, IntegersOf(constant)));
      }
    }
    TENON_ASSIGN_OR_RETURN(copied[op.outputs.front()],
                           copy.AddOpTensor(op.kind, op.name, inputs, op.attributes));
  }
  const TensorId y = copied.at(result);
  TENON_RETURN_IF_ERROR(fold(copy, {y}));
  return IntegersOf(copy.tensor(y));
}

/// Returns the names of the model's ops that an op stands for, its own among them if `with_own`.
std::string SourcesOf(const Graph& graph, OpId id, bool with_own) {
  const Op& op = graph.op(id);
  if (!with_own || op.source_ops.empty()) return with_own ? op.name : op.source_ops;
  return op.name + "," + op.source_ops;
}

}  // namespace

Result<bool> TryMakeByteFunction(Graph& graph, OpId id, const ConstantFolder& fold) {
  if (graph.op(id).kind != OpKind::kQuantizedBinary || !fold) return false;
  const TensorId result = graph.op(id).outputs.front();
  FunctionRegionFinder finder(graph, result);
  const TensorId source = finder.Find();
  if (source == kNone) return false;
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> table,
                         RunRegion(graph, finder.ops(), source, result, fold));
  const std::string name = graph.tensor(result).name;
  const std::string op_name = graph.op(id).name;
  const TensorId entries = AddIntegers(graph, name + ".table", graph.tensor(result).dtype, table);
  TENON_ASSIGN_OR_RETURN(const OpId made, graph.InsertOp(id, OpKind::kLookup, op_name,
                                                         {source, entries}, Attributes(), {name}));
  std::vector<std::pair<OpId, std::string>> sources;
  for (const OpId op : finder.ops()) sources.emplace_back(op, SourcesOf(graph, op, op != id));
  const TensorId y = graph.op(made).outputs.front();
  BypassAndErase(graph, id, y);
  std::string& source_ops = graph.MutableOp(made).source_ops;
  for (const auto& [op, names] : sources) {
    if (graph.IsOp(op) || names.empty()) continue;  // others read it: it stays
    source_ops += (source_ops.empty() ? "" : ",") + names;
  }
  graph.RenameTensor(y, name);
  return true;
}

}  // namespace tenon::converter
