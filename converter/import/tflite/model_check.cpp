#include <algorithm>
#include <map>
#include <vector>

#include "converter/import/tflite/lowering_table.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/import/tflite/model_tensors.hpp"
#include "converter/import/tflite/variables.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

constexpr uint32_t kFormatVersion = 3;

template <typename T>
uint32_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

template <typename T>
bool HasNull(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector) {
  return vector == nullptr || std::any_of(vector->begin(), vector->end(),
                                          [](const T* element) { return element == nullptr; });
}

Status CheckTables(const format::Model& model) {
  if (model.version() != kFormatVersion) {
    return InputError("the model has version {} of the format; version {} is known",
                      model.version(), kFormatVersion);
  }
  if (SizeOf(model.subgraphs()) == 0) return InputError("malformed: the model has no graph");
  if (HasNull(model.operator_codes()) || HasNull(model.buffers()) || HasNull(model.subgraphs())) {
    return InputError("malformed: the model has no operator codes or buffers");
  }
  for (const format::Buffer* buffer : *model.buffers()) {
    if (buffer->offset() > 1 || buffer->size() > 1) {
      return InputError(
          "the model keeps weights outside its FlatBuffer (files past 2 GB do), which is not "
          "supported");
    }
  }
  for (const format::SubGraph* graph : *model.subgraphs()) {
    if (HasNull(graph->tensors()) || HasNull(graph->operators())) {
      return InputError("malformed: the graph has no tensors or operators");
    }
  }
  if (SizeOf(model.subgraphs()->Get(0)->outputs()) == 0) {
    return InputError("the graph has no outputs");
  }
  return {};
}

template <typename T>
uint64_t BytesOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : uint64_t{vector->size()} * sizeof(T);
}

uint64_t BytesOf(const flatbuffers::String* text) { return text == nullptr ? 0 : text->size(); }

uint64_t SharedBytes(const format::Tensor& tensor) {
  uint64_t bytes = BytesOf(tensor.name()) + BytesOf(tensor.shape());
  bytes += BytesOf(tensor.shape_signature());
  if (const auto* numbers = tensor.quantization(); numbers != nullptr) {
    bytes += BytesOf(numbers->scale()) + BytesOf(numbers->zero_point());
  }
  if (const auto* sparsity = tensor.sparsity(); sparsity != nullptr) {
    bytes += BytesOf(sparsity->traversal_order()) + BytesOf(sparsity->block_map());
  }
  return bytes;
}

uint64_t SharedBytes(const format::Operator& node) {
  uint64_t bytes = BytesOf(node.inputs()) + BytesOf(node.outputs());
  bytes += BytesOf(node.intermediates()) + BytesOf(node.custom_options());
  if (const auto* reshape = node.builtin_options_as_ReshapeOptions(); reshape != nullptr) {
    bytes += BytesOf(reshape->new_shape());
  }
  if (const auto* squeeze = node.builtin_options_as_SqueezeOptions(); squeeze != nullptr) {
    bytes += BytesOf(squeeze->squeeze_dims());
  }
  if (const auto* handle = node.builtin_options_as_VarHandleOptions(); handle != nullptr) {
    bytes += BytesOf(handle->container()) + BytesOf(handle->shared_name());
  }
  if (const auto* buckets = node.builtin_options_as_BucketizeOptions(); buckets != nullptr) {
    bytes += BytesOf(buckets->boundaries());
  }
  return bytes;
}

using Signatures = flatbuffers::Vector<flatbuffers::Offset<format::SignatureDef>>;

uint64_t SharedBytes(const Signatures* signatures) {
  uint64_t bytes = 0;
  if (signatures == nullptr) return bytes;
  for (const format::SignatureDef* signature : *signatures) {
    if (signature == nullptr) continue;
    for (const auto* entries : {signature->inputs(), signature->outputs()}) {
      if (entries == nullptr) continue;
      for (const format::TensorMap* entry : *entries) {
        if (entry != nullptr) bytes += BytesOf(entry->name());
      }
    }
  }
  return bytes;
}

/// Tables of a FlatBuffer may have one name or list in common: a megabyte that a hundred thousand
/// tensors are called by would be copied for each of them.
Status CheckShared(const format::Model& model, size_t file_bytes) {
  constexpr uint64_t kTimesFile = 16;
  uint64_t bytes = SharedBytes(model.signature_defs());
  for (const format::SubGraph* graph : *model.subgraphs()) {
    for (const format::Tensor* tensor : *graph->tensors()) bytes += SharedBytes(*tensor);
    for (const format::Operator* node : *graph->operators()) bytes += SharedBytes(*node);
  }
  if (bytes <= kTimesFile * file_bytes) return {};
  return InputError(
      "malformed: the names and lists of its tensors and nodes take {} bytes in a file of {}",
      bytes, file_bytes);
}

/// The graphs that a node runs; at most two.
std::vector<int32_t> GraphsOf(const format::Operator& node, format::BuiltinOperator op) {
  using Op = format::BuiltinOperator;
  if (op == Op::CALL_ONCE) {
    const auto* options = node.builtin_options_as_CallOnceOptions();
    return {options == nullptr ? 0 : options->init_subgraph_index()};
  }
  if (op == Op::IF) {
    const auto* options = node.builtin_options_as_IfOptions();
    if (options == nullptr) return {0};
    return {options->then_subgraph_index(), options->else_subgraph_index()};
  }
  if (op == Op::WHILE) {
    const auto* options = node.builtin_options_as_WhileOptions();
    if (options == nullptr) return {0};
    return {options->cond_subgraph_index(), options->body_subgraph_index()};
  }
  if (const auto* composite = node.builtin_options_2_as_StableHLOCompositeOptions()) {
    return {composite->decomposition_subgraph_index()};
  }
  if (const auto* window = node.builtin_options_2_as_StablehloReduceWindowOptions()) {
    return {window->body_subgraph_index()};
  }
  if (const auto* scatter = node.builtin_options_2_as_StablehloScatterOptions()) {
    return {scatter->update_computation_subgraph_index()};
  }
  if (const auto* sort = node.builtin_options_2_as_StablehloSortOptions()) {
    return {sort->comparator_subgraph_index()};
  }
  return {};
}

/// Graphs beside the first are those that CALL_ONCE runs, before the first inference, branches,
/// loops, and what operators of StableHLO are given to run.
Status CheckGraphs(const format::Model& model) {
  const uint32_t count = SizeOf(model.subgraphs());
  std::vector<bool> is_called(count, false);
  is_called[0] = true;
  for (std::vector<uint32_t> open = {0}; !open.empty();) {
    const format::SubGraph& graph = *model.subgraphs()->Get(open.back());
    open.pop_back();
    for (const format::Operator* node : *graph.operators()) {
      if (node->opcode_index() >= model.operator_codes()->size()) continue;  // FlowCheck says so
      const format::OperatorCode& code = *model.operator_codes()->Get(node->opcode_index());
      for (const int32_t index : GraphsOf(*node, OperatorOf(code))) {
        if (index < 1 || static_cast<uint32_t>(index) >= count) {
          return InputError("malformed: {} names graph {} of {}", OperatorName(code), index, count);
        }
        const auto called = static_cast<uint32_t>(index);
        if (!is_called[called]) open.push_back(called);
        is_called[called] = true;
      }
    }
  }
  if (std::find(is_called.begin(), is_called.end(), false) == is_called.end()) return {};
  return InputError(
      "the model has {} graphs, as several signatures give; one is supported, and those that it "
      "runs",
      count);
}

Status CheckTensors(const format::Model& model, const format::SubGraph& graph) {
  const auto& tensors = *graph.tensors();
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const format::Tensor& tensor = *tensors.Get(i);
    const std::string name = NameOf(tensor, static_cast<int32_t>(i));
    if (tensor.buffer() >= model.buffers()->size()) {
      return InputError("malformed: tensor '{}' is in buffer {} of {}", name, tensor.buffer(),
                        model.buffers()->size());
    }
    if (tensor.sparsity() != nullptr && !HasData(model, tensor)) {
      return InputError("tensor '{}' is sparse, which only constants may be", name);
    }
  }
  return {};
}

/// Walks the graph in its order of execution.
class FlowCheck {
 public:
  FlowCheck(const format::Model& model, const format::SubGraph& graph)
      : model_(model), graph_(graph), known_(graph.tensors()->size(), false) {}

  Status Run() {
    for (uint32_t i = 0; i < graph_.tensors()->size(); ++i) {
      const format::Tensor& tensor = *graph_.tensors()->Get(i);
      known_[i] = HasData(model_, tensor) || tensor.is_variable();
    }
    KnowEmptyConstants();
    TENON_RETURN_IF_ERROR(MakeAll(graph_.inputs(), "the graph's inputs"));
    for (const format::Operator* node : *graph_.operators()) {
      TENON_RETURN_IF_ERROR(Visit(*node));
    }
    return ReadAll(graph_.outputs(), "the graph's outputs");
  }

 private:
  using Indices = flatbuffers::Vector<int32_t>;

  /// What has no elements has no data either: it is a constant unless it is made.
  void KnowEmptyConstants() {
    std::vector<bool> is_made(known_.size(), false);
    const auto make = [&](const Indices* indices) {
      for (uint32_t i = 0; i < SizeOf(indices); ++i) {
        const int32_t index = indices->Get(i);
        if (CheckIndex(index, "").ok()) is_made[static_cast<size_t>(index)] = true;
      }
    };
    make(graph_.inputs());
    for (const format::Operator* node : *graph_.operators()) make(node->outputs());
    for (uint32_t i = 0; i < graph_.tensors()->size(); ++i) {
      if (!is_made[i] && HasNoElements(*graph_.tensors()->Get(i))) known_[i] = true;
    }
  }

  Status Visit(const format::Operator& node) {
    if (node.opcode_index() >= model_.operator_codes()->size()) {
      return InputError("malformed: a node has operator code {} of {}", node.opcode_index(),
                        model_.operator_codes()->size());
    }
    const format::OperatorCode& code = *model_.operator_codes()->Get(node.opcode_index());
    const std::string where = fmt::format("a node ({})", OperatorName(code));
    TENON_RETURN_IF_ERROR(CheckCounts(node, OperatorOf(code)));
    const bool optional = !IsVariableOperator(OperatorOf(code));
    TENON_RETURN_IF_ERROR(ReadAll(node.inputs(), where, optional));
    for (uint32_t i = 0; i < SizeOf(node.intermediates()); ++i) {
      TENON_RETURN_IF_ERROR(CheckIndex(node.intermediates()->Get(i), where + "'s intermediates"));
    }
    return MakeAll(node.outputs(), where);
  }

  static Status CheckCounts(const format::Operator& node, format::BuiltinOperator op) {
    using Op = format::BuiltinOperator;
    const bool assigns = op == Op::ASSIGN_VARIABLE;
    if (SizeOf(node.outputs()) == 0 && !assigns && op != Op::CALL_ONCE) {
      return InputError("malformed: a node has no outputs");
    }
    const uint32_t wanted = assigns ? 2 : op == Op::READ_VARIABLE ? 1 : 0;
    if (IsVariableOperator(op) && SizeOf(node.inputs()) != wanted) {
      return InputError("malformed: a node ({}) has {} inputs, not {}",
                        format::EnumNameBuiltinOperator(op), SizeOf(node.inputs()), wanted);
    }
    return {};
  }

  Status CheckIndex(int32_t index, const std::string& where) const {
    if (index >= 0 && static_cast<uint32_t>(index) < graph_.tensors()->size()) return {};
    return InputError("malformed: {}: there is no tensor {}, of {}", where, index,
                      graph_.tensors()->size());
  }

  Status ReadAll(const Indices* indices, const std::string& where, bool optional = false) const {
    for (uint32_t i = 0; i < SizeOf(indices); ++i) {
      const int32_t index = indices->Get(i);
      if (optional && index == -1) continue;
      TENON_RETURN_IF_ERROR(CheckIndex(index, where));
      if (!known_[static_cast<size_t>(index)]) {
        return InputError("malformed: nothing makes tensor '{}' before {} reads it",
                          NameOf(*graph_.tensors()->Get(static_cast<uint32_t>(index)), index),
                          where);
      }
    }
    return {};
  }

  Status MakeAll(const Indices* indices, const std::string& where) {
    for (uint32_t i = 0; i < SizeOf(indices); ++i) {
      const int32_t index = indices->Get(i);
      TENON_RETURN_IF_ERROR(CheckIndex(index, where));
      if (known_[static_cast<size_t>(index)]) {
        return InputError("malformed: tensor '{}' is made twice, the second time by {}",
                          NameOf(*graph_.tensors()->Get(static_cast<uint32_t>(index)), index),
                          where);
      }
      known_[static_cast<size_t>(index)] = true;
    }
    return {};
  }

  const format::Model& model_;
  const format::SubGraph& graph_;
  std::vector<bool> known_;
};

Status CheckOperators(const format::Model& model) {
  const format::SubGraph& graph = *model.subgraphs()->Get(0);
  constexpr size_t kMostNamed = 64;
  struct Nodes {
    std::vector<std::string> names;  ///< of the first kMostNamed
    size_t count = 0;
  };
  std::map<std::string, Nodes> unsupported;
  for (const format::Operator* node : *graph.operators()) {
    const format::OperatorCode& code = *model.operator_codes()->Get(node->opcode_index());
    if (FindLowering(code) != nullptr || IsVariableOperator(OperatorOf(code))) continue;
    Nodes& nodes = unsupported[OperatorName(code)];
    if (nodes.count++ < kMostNamed) nodes.names.push_back(NodeName(graph, *node));
  }
  if (unsupported.empty()) return {};
  Error error =
      InputError("the model uses {} that cannot be converted",
                 unsupported.size() == 1 ? std::string("an operator")
                                         : fmt::format("{} operators", unsupported.size()));
  for (const auto& [op, nodes] : unsupported) {
    error.details.push_back(fmt::format("unsupported op {} ({} times): {}", op, nodes.count,
                                        fmt::join(nodes.names, ", ")));
    if (nodes.count > kMostNamed) {
      error.details.back() += fmt::format(" and {} more", nodes.count - kMostNamed);
    }
  }
  return error;
}

}  // namespace

Status CheckModel(const format::Model& model, size_t file_bytes) {
  TENON_RETURN_IF_ERROR(CheckTables(model));
  TENON_RETURN_IF_ERROR(CheckShared(model, file_bytes));
  TENON_RETURN_IF_ERROR(CheckGraphs(model));
  for (const format::SubGraph* graph : *model.subgraphs()) {
    TENON_RETURN_IF_ERROR(CheckTensors(model, *graph));
    TENON_RETURN_IF_ERROR(FlowCheck(model, *graph).Run());
  }
  return CheckOperators(model);
}

format::BuiltinOperator OperatorOf(const format::OperatorCode& code) {
  return std::max(code.builtin_code(),
                  static_cast<format::BuiltinOperator>(code.deprecated_builtin_code()));
}

std::string OperatorName(const format::OperatorCode& code) {
  const format::BuiltinOperator op = OperatorOf(code);
  if (op == format::BuiltinOperator::CUSTOM) {
    constexpr size_t kMostOfName = 1024;
    return code.custom_code() == nullptr ? "CUSTOM"
                                         : code.custom_code()->str().substr(0, kMostOfName);
  }
  const char* name = format::EnumNameBuiltinOperator(op);
  return *name != '\0' ? std::string(name) : fmt::format("operator {}", static_cast<int32_t>(op));
}

std::string NodeName(const format::SubGraph& graph, const format::Operator& node) {
  const auto* named = SizeOf(node.outputs()) > 0 ? node.outputs() : node.inputs();
  if (SizeOf(named) == 0) return "once";  // CALL_ONCE
  const int32_t index = named->Get(0);
  return NameOf(*graph.tensors()->Get(static_cast<uint32_t>(index)), index);
}

}  // namespace tenon::converter::tflite
