#include "converter/import/onnx/importer.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/lowering.hpp"
#include "converter/import/onnx/model_file.hpp"
#include "converter/import/onnx/model_inputs.hpp"
#include "converter/import/onnx/subgraphs.hpp"

namespace tenon::converter {
namespace {

/// Its first kMostOfName bytes: all that a node becomes is called after it.
std::string NodeName(const onnx::NodeProto& node) {
  constexpr size_t kMostOfName = 1024;
  if (!node.name().empty()) return node.name().substr(0, kMostOfName);
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output.substr(0, kMostOfName);
  }
  return node.op_type().substr(0, kMostOfName);
}

/// The first of several problems becomes the message, the others its details.
Error Join(const std::vector<Error>& problems) {
  Error joined = problems.front();
  for (size_t i = 1; i < problems.size(); ++i) joined.details.push_back(problems[i].message);
  return joined;
}

/// True for an operator of which the numbers come out as they went in.
bool Moves(std::string_view op_type) {
  constexpr std::string_view kMove[] = {"Flatten", "Identity",  "Reshape",
                                        "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(kMove), std::end(kMove), op_type) != std::end(kMove);
}

}  // namespace

Importer::Importer(const onnx::ModelProto& model, const std::filesystem::path& path,
                   const ImportOptions& options, const ConstantFolder& fold)
    : model_(model),
      folder_(path.parent_path()),
      options_(options),
      fold_(fold),
      opset_(DefaultOpset(model)) {
  graph_.name = model.graph().name();
  model_bytes_ = DiskBytes(path);
  graph_.constant_limit = ConstantLimit(options, model_bytes_);
}

Status Importer::Run() {
  CollectNames();
  TENON_RETURN_IF_ERROR(AddInputs());
  const Status lowered = LowerNodes(model_.graph());
  if (unsupported_) return UnsupportedError(model_);
  TENON_RETURN_IF_ERROR(lowered);
  TENON_RETURN_IF_ERROR(AddOutputs());
  EraseUnused();
  return {};
}

void Importer::CollectNames() {
  for (const auto& input : model_.graph().input()) names_.Take(input.name());
  for (const auto& tensor : model_.graph().initializer()) {
    names_.Take(tensor.name());
    initializers_.emplace(tensor.name(), &tensor);
  }
  for (const auto& node : model_.graph().node()) {
    for (const std::string& output : node.output()) names_.Take(output);
    for (const std::string& name : ValuesRead(node)) used_.insert(name);
  }
  for (const auto& output : model_.graph().output()) used_.insert(output.name());
}

Status Importer::AddInputs() {
  TENON_ASSIGN_OR_RETURN(const std::vector<InputType> inputs, ResolveInputs(model_, options_));
  for (const auto& [name, frozen] : options_.freeze) TENON_RETURN_IF_ERROR(AddFrozen(name));
  for (const InputType& input : inputs) {
    const TensorId id = graph_.AddTensor(input.name, input.dtype, input.shape);
    graph_.AddInput(id, input.name);
    values_[input.name] = id;
  }
  return {};
}

Status Importer::AddFrozen(const std::string& name) {
  const ImportOptions::Frozen& frozen = options_.freeze.at(name);
  const int64_t wanted = frozen.shape.Elements() * DTypeBytes(frozen.dtype);
  if (static_cast<int64_t>(frozen.bytes.size()) != wanted) {
    return UsageError("--freeze {}: {} bytes given, {} wanted", name, frozen.bytes.size(), wanted);
  }
  values_[name] = graph_.AddConstant(name, frozen.dtype, frozen.shape, frozen.bytes);
  return {};
}

Result<TensorId> Importer::Value(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  const auto found = initializers_.find(name);
  if (found == initializers_.end()) return InputError("nothing makes its input '{}'", name);
  TENON_ASSIGN_OR_RETURN(const TensorId id, AddInitializer(*found->second));
  values_[name] = id;
  return id;
}

Result<TensorId> Importer::AddInitializer(const onnx::TensorProto& tensor) {
  TENON_ASSIGN_OR_RETURN(const TensorPlace place, FindTensor(tensor, folder_));
  if (!place.file.empty() && external_files_.insert(place.file).second) {
    model_bytes_ += DiskBytes(place.file);
    if (options_.files_read != nullptr) options_.files_read->push_back(place.file);
    graph_.constant_limit = ConstantLimit(options_, model_bytes_);
  }
  const auto known = place.file.empty() ? external_.end() : external_.find(place);
  if (known != external_.end()) {
    const TensorId id = graph_.AddConstant(tensor.name(), place.dtype, place.shape, known->second);
    SetPackedBits(id, place.packed_bits);
    return id;
  }
  const int64_t bytes_here = place.shape.Elements() * DTypeBytes(place.dtype);
  TENON_RETURN_IF_ERROR(CheckMemory(bytes_here, tensor.name()));
  TENON_ASSIGN_OR_RETURN(TensorData data, ReadTensor(tensor, folder_));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(data.bytes));
  if (!place.file.empty()) external_[place] = bytes;
  const TensorId id = graph_.AddConstant(tensor.name(), data.dtype, data.shape, bytes);
  SetPackedBits(id, data.packed_bits);
  return id;
}

int32_t Importer::PackedBitsOf(TensorId id) const {
  const auto found = packed_bits_.find(id);
  return found == packed_bits_.end() ? 0 : found->second;
}

Status Importer::CheckPacked(const onnx::NodeProto& node) {
  constexpr std::string_view kTakePacked[] = {"Cast", "DequantizeLinear", "QuantizeLinear", "Shape",
                                              "Size"};
  const std::string& type = node.op_type();
  if (Moves(type) ||
      std::find(std::begin(kTakePacked), std::end(kTakePacked), type) != std::end(kTakePacked)) {
    return {};
  }
  for (const std::string& input : node.input()) {
    if (input.empty()) continue;
    const auto value = values_.find(input);
    const auto initializer = initializers_.find(input);
    const bool is_packed = value != values_.end()
                               ? PackedBitsOf(value->second) != 0
                               : initializer != initializers_.end() &&
                                     PackedBits(initializer->second->data_type()) != 0;
    if (is_packed) return InputError("its input '{}' has numbers of less than a byte", input);
  }
  return {};
}

const std::vector<TensorId>* Importer::SequenceOf(TensorId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

void Importer::SetSequence(TensorId id, const std::vector<TensorId>& elements) {
  inlined_bytes_ += static_cast<int64_t>(elements.size() * sizeof(TensorId));
  sequences_[id] = elements;
}

Status Importer::CheckSequences(const onnx::NodeProto& node) {
  constexpr std::string_view kTakeFirst[] = {"ConcatFromSequence", "Identity",
                                             "SequenceAt",         "SequenceErase",
                                             "SequenceInsert",     "SequenceLength"};
  if (sequences_.empty()) return {};
  const std::string& type = node.op_type();
  const bool takes_first =
      std::find(std::begin(kTakeFirst), std::end(kTakeFirst), type) != std::end(kTakeFirst);
  for (int i = 0; i < node.input_size(); ++i) {
    if (takes_first ? i == 0 : type == "Loop" && i >= 2) continue;
    const auto value = values_.find(node.input(i));
    if (value == values_.end() || SequenceOf(value->second) == nullptr) continue;
    return InputError("its input '{}' is a sequence", node.input(i));
  }
  return {};
}

void Importer::PassPacked(const onnx::NodeProto& node) {
  if (!Moves(node.op_type()) || node.input_size() == 0 || node.output_size() == 0) return;
  const auto from = values_.find(node.input(0));
  const auto to = values_.find(node.output(0));
  if (from == values_.end() || to == values_.end()) return;
  SetPackedBits(to->second, PackedBitsOf(from->second));
}

// All problems are reported at once: what depends on a node that failed is left out quietly.
Status Importer::LowerNodes(const onnx::GraphProto& nodes) {
  std::vector<Error> problems;
  std::unordered_set<std::string> failed;
  const auto is_failed = [&](const std::string& value) { return failed.count(value) != 0; };
  for (const auto& node : nodes.node()) {
    Status status;
    const std::vector<std::string> read = ValuesRead(node);
    const bool reachable = std::none_of(read.begin(), read.end(), is_failed);
    if (reachable) {
      Lowering lowering(*this, node, opset_, NodeName(node));
      status = CheckPacked(node);
      if (status.ok()) status = CheckSequences(node);
      if (status.ok()) status = FindLowering(node.domain(), node.op_type())->lower(lowering);
      if (status.ok()) status = lowering.CheckAttributes();
      if (status.ok()) PassPacked(node);
      // What is over the limit now would only grow.
      TENON_RETURN_IF_ERROR(CheckMemory(0, NodeName(node)));
    }
    if (reachable && status.ok()) continue;
    if (!status.ok() && status.error().kind == ErrorKind::kDoesNotFit) return status;
    for (const std::string& output : node.output()) {
      if (!output.empty()) failed.insert(output);
    }
    if (reachable) {
      Error error = status.error();
      error.message =
          fmt::format("node '{}' ({}): {}", NodeName(node), node.op_type(), error.message);
      problems.push_back(std::move(error));
    }
  }
  if (!problems.empty()) return Join(problems);
  return {};
}

Result<std::vector<TensorId>> Importer::InlineGraph(const onnx::GraphProto& body,
                                                    const std::vector<TensorId>& inputs,
                                                    const std::string& scope) {
  if (HasUnsupported(body)) {
    unsupported_ = true;  // becomes the model's error, which names them
    return InputError("a graph inside it cannot be converted");
  }
  inlined_nodes_ += body.node_size();
  if (inlined_nodes_ > kMostInlinedNodes) {
    return InputError("its graphs unroll to more than {} nodes", kMostInlinedNodes);
  }
  inlined_bytes_ += static_cast<int64_t>(body.SpaceUsedLong());
  inlined_bytes_ += NamesMentioned(body) * static_cast<int64_t>(scope.size());
  TENON_RETURN_IF_ERROR(CheckMemory(0, scope));
  auto copy = std::make_shared<onnx::GraphProto>(body);
  inlined_.push_back(copy);
  std::unordered_map<std::string, std::string> names;
  for (const std::string& name : NamesMade(body))
    names[name] = FreshName(fmt::format("{}/{}", scope, name));
  RenameValues(*copy, names);
  if (static_cast<size_t>(copy->input_size()) != inputs.size()) {
    return InputError("its body has {} inputs instead of {}", copy->input_size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    Bind(copy->input(static_cast<int>(i)).name(), inputs[i]);
  for (const auto& tensor : copy->initializer()) initializers_.emplace(tensor.name(), &tensor);
  for (auto& node : *copy->mutable_node()) {
    node.set_name(node.name().empty() ? NodeName(node) : scope + "/" + node.name());
    for (const std::string& name : ValuesRead(node)) used_.insert(name);
  }
  for (const auto& output : copy->output()) used_.insert(output.name());
  TENON_RETURN_IF_ERROR(LowerNodes(*copy));
  std::vector<TensorId> outputs;
  for (const auto& output : copy->output()) {
    TENON_ASSIGN_OR_RETURN(const TensorId id, Value(output.name()));
    outputs.push_back(id);
  }
  return outputs;
}

Status Importer::CheckMemory(int64_t more, const std::string& what) {
  return CheckConstantLimit(graph_, inlined_bytes_ + more, what);
}

Status Importer::AddOutputs() {
  for (const auto& output : model_.graph().output()) {
    TENON_ASSIGN_OR_RETURN(TensorId id, Value(output.name()));
    if (SequenceOf(id) != nullptr) return InputError("output '{}' is not a tensor", output.name());
    // Every output port has a tensor of its own that an op writes: a user may bind it to memory.
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.producer == kNone || graph_.IsOutput(id)) {
      const bool taken = graph_.FindTensor(output.name()) != kNone;
      const std::string name = taken ? FreshName(output.name() + "/copy") : output.name();
      TENON_ASSIGN_OR_RETURN(id, graph_.AddOpTensor(OpKind::kCopy, name, {id}, Attributes(), name));
    }
    graph_.AddOutput(id, output.name());
  }
  return {};
}

Status Importer::Fold(TensorId id) { return FoldValue(graph_, id, fold_); }

void Importer::FoldCounters(const std::vector<TensorId>& ids) {
  converter::FoldCounters(graph_, ids, fold_);
}

void Importer::EraseUnused() {
  EraseUnread(graph_);
  std::erase_if(values_, [&](const auto& value) { return !graph_.IsTensor(value.second); });
}

}  // namespace tenon::converter
