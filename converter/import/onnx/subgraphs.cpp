#include "converter/import/onnx/subgraphs.hpp"

#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "converter/import/onnx/value_names.hpp"

namespace tenon::converter {
namespace {

void Rename(std::string& name, const std::unordered_map<std::string, std::string>& to) {
  const auto found = to.find(name);
  if (found != to.end()) name = found->second;
}

void TakeNames(const onnx::GraphProto& graph, ValueNames& names) {
  for (const std::string& name : NamesMade(graph)) names.Take(name);
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) names.Take(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) TakeNames(attribute.g(), names);
    }
  }
}

void HoistOf(onnx::GraphProto& graph, ValueNames& names, onnx::GraphProto& to) {
  std::unordered_set<std::string> inputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  std::unordered_map<std::string, std::string> renamed;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> staying;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.name().empty() || inputs.contains(tensor.name()) ||
        !renamed.emplace(tensor.name(), "").second) {
      staying.Add()->Swap(&tensor);
      continue;
    }
    const std::string name = names.Fresh(tensor.name());
    renamed[tensor.name()] = name;
    tensor.set_name(name);
    to.add_initializer()->Swap(&tensor);
  }
  graph.mutable_initializer()->Swap(&staying);
  RenameValues(graph, renamed);
}

void HoistInside(onnx::GraphProto& graph, ValueNames& names, onnx::GraphProto& to) {
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      HoistInside(*attribute.mutable_g(), names, to);
      HoistOf(*attribute.mutable_g(), names, to);
    }
  }
}

}  // namespace

std::vector<std::string> NamesMade(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) names.push_back(output);
    }
  }
  return names;
}

std::vector<std::string> ValuesRead(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.push_back(input);
  }
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const std::vector<std::string> made = NamesMade(attribute.g());
    const std::unordered_set<std::string> own(made.begin(), made.end());
    const auto add = [&](const std::string& name) {
      if (!name.empty() && !own.contains(name)) names.push_back(name);
    };
    for (const auto& inner : attribute.g().node()) {
      for (const std::string& name : ValuesRead(inner)) add(name);
    }
    for (const auto& output : attribute.g().output()) add(output.name());
  }
  return names;
}

void HoistInitializers(onnx::ModelProto& model) {
  ValueNames names;
  TakeNames(model.graph(), names);
  HoistInside(*model.mutable_graph(), names, *model.mutable_graph());
}

void RenameValues(onnx::GraphProto& graph, const std::unordered_map<std::string, std::string>& to) {
  for (auto& input : *graph.mutable_input()) Rename(*input.mutable_name(), to);
  for (auto& output : *graph.mutable_output()) Rename(*output.mutable_name(), to);
  for (auto& tensor : *graph.mutable_initializer()) Rename(*tensor.mutable_name(), to);
  for (auto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) Rename(input, to);
    for (std::string& output : *node.mutable_output()) Rename(output, to);
    for (auto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      std::unordered_map<std::string, std::string> visible = to;
      for (const std::string& name : NamesMade(attribute.g())) visible.erase(name);
      RenameValues(*attribute.mutable_g(), visible);
    }
  }
}

}  // namespace tenon::converter
