#include "converter/import/tflite/variables.hpp"

#include <memory>

#include "converter/import/tflite/importer.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/import/tflite/model_tensors.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;

Op OperatorAt(const format::Model& model, const format::Operator& node) {
  return OperatorOf(*model.operator_codes()->Get(node.opcode_index()));
}

std::string TextOf(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

/// What VAR_HANDLE names.
std::pair<std::string, std::string> KeyOf(const format::Operator& node) {
  const auto* options = node.builtin_options_as_VarHandleOptions();
  if (options == nullptr) return {};
  return {TextOf(options->container()), TextOf(options->shared_name())};
}

}  // namespace

bool IsVariableOperator(Op op) {
  return op == Op::VAR_HANDLE || op == Op::READ_VARIABLE || op == Op::ASSIGN_VARIABLE ||
         op == Op::CALL_ONCE;
}

Status Variables::Lower(const format::Operator& node, Op op) {
  switch (op) {
    case Op::CALL_ONCE:
      return Initialise(node);
    case Op::VAR_HANDLE:
      key_of_resource_[node.outputs()->Get(0)] = KeyOf(node);
      return {};
    case Op::READ_VARIABLE:
      return Read(node);
    default:
      return Assign(node);
  }
}

/// Takes the assignments of the graph that runs once, before the first inference: of constants.
Status Variables::Initialise(const format::Operator& node) {
  const auto* options = node.builtin_options_as_CallOnceOptions();
  const auto index = static_cast<uint32_t>(options == nullptr ? 0 : options->init_subgraph_index());
  const format::SubGraph& graph = *model_.subgraphs()->Get(index);
  std::map<int32_t, Key> keys;
  for (const format::Operator* step : *graph.operators()) {
    const Op op = OperatorAt(model_, *step);
    if (op == Op::VAR_HANDLE) {
      keys[step->outputs()->Get(0)] = KeyOf(*step);
      continue;
    }
    if (op != Op::ASSIGN_VARIABLE || !keys.contains(step->inputs()->Get(0))) {
      return InputError(
          "graph {}, which initialises variables, does more than assign constants ({}), which is "
          "not supported",
          index, OperatorName(*model_.operator_codes()->Get(step->opcode_index())));
    }
    TENON_RETURN_IF_ERROR(SetInitial(graph, keys[step->inputs()->Get(0)], step->inputs()->Get(1)));
  }
  return {};
}

Status Variables::SetInitial(const format::SubGraph& graph, const Key& key, int32_t tensor) {
  const format::Tensor& stored = *graph.tensors()->Get(static_cast<uint32_t>(tensor));
  Variable& variable = variables_[key];
  if (variable.value != kNone) {
    return InputError("variable '{}' is initialised after it has been used", key.second);
  }
  if (!HasData(model_, stored)) {
    return InputError("variable '{}' is initialised with what is computed, which is not supported",
                      key.second);
  }
  if (stored.sparsity() != nullptr) {
    return InputError("variable '{}' begins with a sparse constant, which is not supported",
                      key.second);
  }
  TENON_ASSIGN_OR_RETURN(variable.dtype, DTypeFromTflite(stored.type()));
  TENON_ASSIGN_OR_RETURN(variable.shape, ReadShape(stored));
  const int64_t wanted = variable.shape.Elements() * DTypeBytes(variable.dtype);
  TENON_RETURN_IF_ERROR(TakeInitialBytes(BytesToRead(model_, stored, wanted), key.second));
  TENON_ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                         ReadData(model_, stored, variable.dtype, variable.shape));
  variable.initial = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {};
}

Result<Variables::Variable*> Variables::VariableAt(int32_t resource) {
  const auto key = key_of_resource_.find(resource);
  if (key == key_of_resource_.end()) {
    return InputError("'{}' is no variable: only those that VAR_HANDLE names are supported",
                      importer_.NameOf(resource));
  }
  return &variables_[key->second];
}

Status Variables::Read(const format::Operator& node) {
  TENON_ASSIGN_OR_RETURN(Variable * variable, VariableAt(node.inputs()->Get(0)));
  const int32_t output = node.outputs()->Get(0);
  TENON_ASSIGN_OR_RETURN(const DType dtype, importer_.DTypeOf(output));
  if (variable->value == kNone) {
    const std::string& name = key_of_resource_[node.inputs()->Get(0)].second;
    if (variable->initial == nullptr) {
      return InputError("variable '{}' is read before anything has set it", name);
    }
    ReadLast(*variable, name);
  }
  if (importer_.graph().tensor(variable->value).dtype != dtype) {
    return InputError("variable '{}' is read as {}, but it is {}", importer_.NameOf(output),
                      DTypeName(dtype), DTypeName(importer_.graph().tensor(variable->value).dtype));
  }
  importer_.Bind(output, variable->value, Order::kModel);
  return {};
}

Status Variables::Assign(const format::Operator& node) {
  TENON_ASSIGN_OR_RETURN(Variable * variable, VariableAt(node.inputs()->Get(0)));
  TENON_ASSIGN_OR_RETURN(variable->value, importer_.Value(node.inputs()->Get(1), Order::kModel));
  return {};
}

void Variables::ReadLast(Variable& variable, const std::string& name) {
  Graph& graph = importer_.graph();
  variable.port = PortName(/*output=*/false, PrintableName(name));
  variable.input = graph.AddTensor(variable.port, variable.dtype, variable.shape);
  graph.AddInput(variable.input, variable.port);
  variable.value = variable.input;
}

Variables::Key Variables::KeyOfTensor(int32_t tensor) const {
  return {"tensor " + std::to_string(tensor), importer_.NameOf(tensor)};
}

Result<TensorId> Variables::Kept(int32_t tensor) {
  if (importer_.IsInside()) {
    return InputError("variables in branches and loops are not supported");
  }
  const format::Tensor& stored =
      *model_.subgraphs()->Get(0)->tensors()->Get(static_cast<uint32_t>(tensor));
  if (!stored.is_variable()) {
    return InputError("'{}' is no variable: only such keep a state", importer_.NameOf(tensor));
  }
  Variable& variable = variables_[KeyOfTensor(tensor)];
  if (variable.value == kNone) {
    TENON_ASSIGN_OR_RETURN(variable.dtype, importer_.DTypeOf(tensor));
    TENON_ASSIGN_OR_RETURN(variable.shape, ReadShape(stored));
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, importer_.QuantizationOf(tensor));
    if (variable.dtype == DType::kI8 && !quantization.IsNone()) {
      // The numbers that it stands for are zeros.
      TENON_RETURN_IF_ERROR(TakeInitialBytes(variable.shape.Elements(), importer_.NameOf(tensor)));
      variable.initial = std::make_shared<const std::vector<std::byte>>(
          static_cast<size_t>(variable.shape.Elements()),
          static_cast<std::byte>(quantization.zero_point()));
    }
    ReadLast(variable, importer_.NameOf(tensor));
  }
  return variable.value;
}

Status Variables::Keep(int32_t tensor, TensorId value) {
  variables_[KeyOfTensor(tensor)].value = value;
  return {};
}

std::string Variables::PortName(bool output, const std::string& wanted) {
  std::optional<ValueNames>& names = port_names_[output ? 1 : 0];
  if (!names) {
    names.emplace();
    const Graph& graph = importer_.graph();
    for (const auto& port : output ? graph.outputs() : graph.inputs()) names->Take(port.name);
  }
  return names->Fresh(wanted.empty() ? "variable" : wanted);
}

Status Variables::TakeInitialBytes(int64_t bytes, const std::string& name) {
  initial_bytes_ += bytes;
  return CheckConstantLimit(importer_.graph(), initial_bytes_, name);
}

Status Variables::AddStates() {
  Graph& graph = importer_.graph();
  for (const auto& [key, variable] : variables_) {
    if (variable.input == kNone) continue;
    const Tensor& value = graph.tensor(variable.value);
    if (value.dtype != variable.dtype || !(value.shape == variable.shape)) {
      return InputError("variable '{}' is assigned another type or shape than it begins with",
                        key.second);
    }
    const std::string output = PortName(/*output=*/true, variable.port + ".next");
    graph.AddOutput(variable.value, output);
    graph.states.push_back({variable.port, output, variable.initial});
  }
  return {};
}

}  // namespace tenon::converter::tflite
