#include "converter/import/onnx/subgraphs.hpp"

#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "converter/import/value_names.hpp"

namespace tenon::converter {
namespace {

/// New names of values in graphs inside each other. What a graph names itself is noted beside the
/// one map, of which each graph would else need a copy.
class Renaming {
 public:
  explicit Renaming(const std::unordered_map<std::string, std::string>& to) : to_(to) {}

  void Rename(onnx::GraphProto& graph) {
    for (auto& input : *graph.mutable_input()) Rename(*input.mutable_name());
    for (auto& output : *graph.mutable_output()) Rename(*output.mutable_name());
    for (auto& tensor : *graph.mutable_initializer()) Rename(*tensor.mutable_name());
    for (auto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) Rename(input);
      for (std::string& output : *node.mutable_output()) Rename(output);
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) RenameInside(*attribute.mutable_g());
      }
    }
  }

 private:
  void Rename(std::string& name) const {
    const auto found = to_.find(name);
    if (found != to_.end() && !kept_.contains(name)) name = found->second;
  }

  void RenameInside(onnx::GraphProto& graph) {
    std::vector<std::string> own;
    for (const std::string& name : NamesMade(graph)) {
      if (to_.contains(name) && kept_.insert(name).second) own.push_back(name);
    }
    Rename(graph);
    for (const std::string& name : own) kept_.erase(name);
  }

  const std::unordered_map<std::string, std::string>& to_;
  std::unordered_set<std::string> kept_;  ///< by the graph at work, and those around it
};

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

int64_t NamesMentioned(const onnx::GraphProto& graph) {
  int64_t count = graph.input_size() + graph.output_size() + graph.initializer_size();
  for (const auto& node : graph.node()) {
    count += 1 + node.input_size() + node.output_size();
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count += NamesMentioned(attribute.g());
    }
  }
  return count;
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
  Renaming(to).Rename(graph);
}

}  // namespace tenon::converter
