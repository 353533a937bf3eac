#include "converter/import/tflite/importer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/lowering_table.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Loops whose rounds have more nodes and tensors than this are taken for a mistake or an attack.
constexpr int64_t kMostInlined = 300000;

const std::vector<int32_t> kToChannelsFirst = {0, 3, 1, 2};
const std::vector<int32_t> kToModelOrder = {0, 2, 3, 1};

/// The first of several problems becomes the message, the others its details.
Error Join(const std::vector<Error>& problems) {
  Error joined = problems.front();
  for (size_t i = 1; i < problems.size(); ++i) joined.details.push_back(problems[i].message);
  return joined;
}

Shape PermutedShape(const Shape& shape, const std::vector<int32_t>& permutation) {
  Shape permuted = shape;
  for (size_t i = 0; i < permutation.size(); ++i) permuted.dims[i] = shape[permutation[i]];
  return permuted;
}

/// Row-major elements of `element_bytes` each, with the dims permuted.
std::vector<std::byte> PermutedBytes(const std::vector<std::byte>& bytes, const Shape& shape,
                                     const std::vector<int32_t>& permutation,
                                     size_t element_bytes) {
  const size_t rank = permutation.size();
  const Shape permuted = PermutedShape(shape, permutation);
  std::vector<size_t> strides(rank, element_bytes);  // of the source, by its own dims
  for (size_t i = rank; i-- > 1;) {
    strides[i - 1] = strides[i] * static_cast<size_t>(shape[static_cast<int32_t>(i)]);
  }
  std::vector<std::byte> result(bytes.size());
  std::vector<int32_t> index(rank, 0);
  size_t source = 0;
  for (size_t target = 0; target < result.size(); target += element_bytes) {
    std::copy_n(bytes.data() + source, element_bytes, result.data() + target);
    for (size_t k = rank; k-- > 0;) {
      const size_t stride = strides[static_cast<size_t>(permutation[k])];
      source += stride;
      if (++index[k] < permuted[static_cast<int32_t>(k)]) break;
      source -= stride * static_cast<size_t>(index[k]);
      index[k] = 0;
    }
  }
  return result;
}

}  // namespace

Importer::Importer(const format::Model& model, const ImportOptions& options,
                   const ConstantFolder& fold)
    : model_(model),
      model_graph_(model.subgraphs()->Get(0)),
      options_(options),
      fold_(fold),
      held_(model_graph_->tensors()->size()),
      variables_(*this, model) {
  const auto* name = model_graph_->name();
  graph_.name = PrintableName(name == nullptr ? std::string() : name->str());
}

Status Importer::Run() {
  TENON_RETURN_IF_ERROR(AddInputs());
  TENON_RETURN_IF_ERROR(LowerNodes());
  TENON_RETURN_IF_ERROR(AddOutputs());
  TENON_RETURN_IF_ERROR(variables_.AddStates());
  EraseUnread(graph_);
  return {};
}

std::string Importer::NameOf(int32_t tensor) const {
  return tflite::NameOf(*model_graph_->tensors()->Get(static_cast<uint32_t>(tensor)), tensor);
}

Result<DType> Importer::DTypeOf(int32_t tensor) const {
  const format::Tensor& stored = *model_graph_->tensors()->Get(static_cast<uint32_t>(tensor));
  if (IsPackedConstant(model_, stored)) return DType::kI8;
  auto dtype = DTypeFromTflite(stored.type());
  if (dtype.ok()) return dtype;
  return InputError("tensor '{}': {}", NameOf(tensor), dtype.error().message);
}

bool Importer::IsComplex(int32_t tensor) const {
  return model_graph_->tensors()->Get(static_cast<uint32_t>(tensor))->type() ==
         format::TensorType::COMPLEX64;
}

Result<Quantization> Importer::QuantizationOf(int32_t tensor) const {
  const format::Tensor& stored = *model_graph_->tensors()->Get(static_cast<uint32_t>(tensor));
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(tensor));
  TENON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(stored));
  auto quantization = ReadQuantization(stored, dtype, shape);
  if (quantization.ok()) return quantization;
  return InputError("tensor '{}': {}", NameOf(tensor), quantization.error().message);
}

Status Importer::Describe(bool output, size_t port, int32_t tensor) {
  TENON_ASSIGN_OR_RETURN(const Quantization quantization, QuantizationOf(tensor));
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(tensor));
  const bool is_byte = dtype == DType::kI8 || dtype == DType::kU8;
  if (quantization.IsNone() || !is_byte) return {};
  if (!quantization.IsPerTensor()) {
    return InputError("tensor '{}' is an {} of the graph and has a scale for each channel",
                      NameOf(tensor), output ? "output" : "input");
  }
  graph_.SetPortQuantization(output, port, quantization.scale(), quantization.zero_point());
  return {};
}

Status Importer::AddInputs() {
  const std::vector<std::string> names = PortNames(model_, /*outputs=*/false);
  TENON_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, InputShapes(model_, names, options_));
  for (size_t i = 0; i < names.size(); ++i) {
    const int32_t tensor = model_graph_->inputs()->Get(static_cast<uint32_t>(i));
    TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(tensor));
    const auto frozen = options_.freeze.find(names[i]);
    if (frozen == options_.freeze.end()) {
      const TensorId id = graph_.AddTensor(names[i], dtype, shapes[i]);
      graph_.AddInput(id, names[i]);
      Bind(tensor, id, Order::kModel);
      TENON_RETURN_IF_ERROR(Describe(false, graph_.inputs().size() - 1, tensor));
      continue;
    }
    const ImportOptions::Frozen& value = frozen->second;
    const int64_t wanted = shapes[i].Elements() * DTypeBytes(dtype);
    if (value.dtype != dtype || !(value.shape == shapes[i]) ||
        static_cast<int64_t>(value.bytes.size()) != wanted) {
      return UsageError("--freeze {}: the array is not of the input's type {} and shape", names[i],
                        DTypeName(dtype));
    }
    Bind(tensor, graph_.AddConstant(names[i], dtype, shapes[i], value.bytes), Order::kModel);
  }
  return {};
}

Result<TensorId> Importer::AddConstant(int32_t tensor) {
  const format::Tensor& stored = *model_graph_->tensors()->Get(static_cast<uint32_t>(tensor));
  if (!HasData(model_, stored) && !HasNoElements(stored)) {
    return InputError("nothing makes tensor '{}'", NameOf(tensor));
  }
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(tensor));
  const auto read = [&]() -> Result<TensorId> {
    TENON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(stored));
    TENON_RETURN_IF_ERROR(CheckConstantLimit(
        graph_, BytesToRead(model_, stored, shape.Elements() * DTypeBytes(dtype)), NameOf(tensor)));
    TENON_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadData(model_, stored, dtype, shape));
    return graph_.AddConstant(NameOf(tensor), dtype, shape, std::move(bytes));
  };
  auto constant = read();
  if (constant.ok() || constant.error().kind == ErrorKind::kDoesNotFit) return constant;
  return InputError("tensor '{}': {}", NameOf(tensor), constant.error().message);
}

Result<TensorId> Importer::Permuted(TensorId id, const std::vector<int32_t>& permutation,
                                    const std::string& name) {
  const Tensor tensor = graph_.tensor(id);
  if (tensor.IsConstant()) {
    return graph_.AddConstant(name, tensor.dtype, PermutedShape(tensor.shape, permutation),
                              PermutedBytes(*tensor.constant, tensor.shape, permutation,
                                            static_cast<size_t>(DTypeBytes(tensor.dtype))));
  }
  TransposeAttributes attributes;
  attributes.rank = tensor.shape.rank;
  std::copy(permutation.begin(), permutation.end(), attributes.permutation);
  return graph_.AddOpTensor(OpKind::kTranspose, name, {id}, Attributes(attributes), name);
}

Result<TensorId> Importer::Value(int32_t tensor, Order order) {
  Held& held = held_[static_cast<size_t>(tensor)];
  if (held.model_order == kNone && held.channels_first == kNone) {
    TENON_ASSIGN_OR_RETURN(held.model_order, AddConstant(tensor));
  }
  if (order == Order::kModel) {
    if (held.model_order == kNone) {
      TENON_ASSIGN_OR_RETURN(held.model_order, Permuted(held.channels_first, kToModelOrder,
                                                        NameOf(tensor) + "/channels_last"));
    }
    return held.model_order;
  }
  if (held.channels_first == kNone) {
    if (graph_.tensor(held.model_order).shape.rank != 4) {
      return InternalError("'{}' has no channels to come first", NameOf(tensor));
    }
    TENON_ASSIGN_OR_RETURN(held.channels_first, Permuted(held.model_order, kToChannelsFirst,
                                                         NameOf(tensor) + "/channels_first"));
  }
  return held.channels_first;
}

Order Importer::OrderOf(int32_t tensor) const { return held_[static_cast<size_t>(tensor)].made_in; }

void Importer::Bind(int32_t tensor, TensorId id, Order order) {
  Held& held = held_[static_cast<size_t>(tensor)];
  (order == Order::kModel ? held.model_order : held.channels_first) = id;
  held.made_in = order;
}

Status Importer::Fold(TensorId id) { return FoldValue(graph_, id, fold_); }

void Importer::FoldCounters(const std::vector<TensorId>& ids) {
  converter::FoldCounters(graph_, ids, fold_);
}

Status Importer::LowerNode(const format::Operator& node) {
  TENON_RETURN_IF_ERROR(CheckConstantLimit(graph_, 0, graph_.name));
  const auto op = OperatorOf(*model_.operator_codes()->Get(node.opcode_index()));
  if (IsVariableOperator(op)) {
    if (IsInside()) return InputError("variables in branches and loops are not supported");
    return variables_.Lower(node, op);
  }
  Node lowering(*this, node, op);
  return Lower(lowering);
}

std::string Importer::OfNode(const format::Operator& node, std::string_view problem) const {
  const format::OperatorCode& code = *model_.operator_codes()->Get(node.opcode_index());
  return fmt::format("node '{}' ({}): {}", NodeName(*model_graph_, node), OperatorName(code),
                     problem);
}

void Importer::Warn(const format::Operator& node, std::string_view problem) const {
  AddWarning(options_, OfNode(node, problem));
}

// All problems are reported at once: what depends on a node that failed is left out quietly.
Status Importer::LowerNodes() {
  std::vector<Error> problems;
  std::set<int32_t> failed;
  for (const format::Operator* node : *model_graph_->operators()) {
    const auto* inputs = node->inputs();
    const bool reachable =
        inputs == nullptr || std::none_of(inputs->begin(), inputs->end(),
                                          [&](int32_t input) { return failed.count(input) != 0; });
    Status status = reachable ? LowerNode(*node) : Status();
    if (reachable && status.ok()) continue;
    if (!status.ok() && status.error().kind == ErrorKind::kDoesNotFit) return status;
    if (node->outputs() != nullptr) {
      failed.insert(node->outputs()->begin(), node->outputs()->end());
    }
    if (reachable) {
      Error error = status.error();
      error.message = OfNode(*node, error.message);
      problems.push_back(std::move(error));
    }
  }
  if (!problems.empty()) return Join(problems);
  return {};
}

/// All of the graph that is lowered now.
Result<std::vector<TensorId>> Importer::LowerInside(const std::vector<TensorId>& inputs) {
  const auto* ports = model_graph_->inputs();
  if ((ports == nullptr ? 0 : ports->size()) != inputs.size()) {
    return InputError("malformed: its graph wants other inputs than {}", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Bind(ports->Get(static_cast<uint32_t>(i)), inputs[i], Order::kModel);
  }
  TENON_RETURN_IF_ERROR(LowerNodes());
  std::vector<TensorId> outputs;
  if (model_graph_->outputs() == nullptr) return outputs;
  for (const int32_t output : *model_graph_->outputs()) {
    TENON_ASSIGN_OR_RETURN(outputs.emplace_back(), Value(output, Order::kModel));
  }
  return outputs;
}

Result<std::vector<TensorId>> Importer::Inline(int32_t index, const std::vector<TensorId>& inputs) {
  constexpr int kMostDepth = 32;
  if (depth_ == kMostDepth) return InputError("its graphs call each other without an end");
  const format::SubGraph* graph = model_.subgraphs()->Get(static_cast<uint32_t>(index));
  // Loops in loops: a few bytes stand for any number of nodes.
  inlined_ += 1 + int64_t{graph->operators()->size()} + int64_t{graph->tensors()->size()};
  if (inlined_ > kMostInlined) {
    return InputError("its graphs unroll to more than {} nodes and tensors", kMostInlined);
  }
  const format::SubGraph* outer = std::exchange(model_graph_, graph);
  std::vector<Held> held(graph->tensors()->size());
  held_.swap(held);
  ++depth_;
  auto outputs = LowerInside(inputs);
  --depth_;
  held_.swap(held);
  model_graph_ = outer;
  return outputs;
}

Status Importer::AddOutputs() {
  const std::vector<std::string> names = PortNames(model_, /*outputs=*/true);
  for (size_t i = 0; i < names.size(); ++i) {
    const int32_t tensor = model_graph_->outputs()->Get(static_cast<uint32_t>(i));
    TENON_ASSIGN_OR_RETURN(TensorId id, Value(tensor, Order::kModel));
    // Every output port has a tensor of its own that an op writes: a user may bind it to memory.
    if (graph_.tensor(id).producer == kNone || graph_.IsOutput(id)) {
      const std::string name = names[i] + "/copy";
      TENON_ASSIGN_OR_RETURN(id, graph_.AddOpTensor(OpKind::kCopy, name, {id}, Attributes(), name));
    }
    graph_.AddOutput(id, names[i]);
    TENON_RETURN_IF_ERROR(Describe(true, i, tensor));
  }
  return {};
}

}  // namespace tenon::converter::tflite
