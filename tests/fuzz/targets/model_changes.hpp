// Changes of ONNX models for the targets that read them: other operators, operands and fields, and
// two graphs in one.
#pragma once

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "converter/import/operator_list.hpp"
#include "tests/fuzz/targets/message_mutator.hpp"

namespace tenon::fuzz {

inline const std::vector<converter::ImportedOperator>& KnownOperators() {
  static const auto* const list =
      new std::vector<converter::ImportedOperator>(converter::OnnxOperators());
  return *list;
}

inline bool ParseModel(onnx::ModelProto& model, const uint8_t* data, size_t bytes) {
  return model.ParseFromArray(data, static_cast<int>(bytes)) && model.graph().node_size() > 0;
}

/// Another operator, or an operand of another node: fields alone rarely lead there.
inline void ChangeNode(onnx::GraphProto& graph, std::mt19937& random) {
  const auto node_count = static_cast<unsigned>(graph.node_size());
  onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(random() % node_count));
  if (random() % 2 == 0) {
    const auto& other = KnownOperators()[random() % KnownOperators().size()];
    node.set_op_type(other.name);
    node.set_domain(other.domain == "ai.onnx" ? "" : other.domain);
    return;
  }
  std::vector<std::string> names{""};
  for (const auto& other : graph.node()) {
    names.insert(names.end(), other.output().begin(), other.output().end());
  }
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  const std::string& name = names[random() % names.size()];
  if (node.input_size() == 0 || random() % 4 == 0) {
    node.add_input(name);
  } else {
    node.set_input(static_cast<int>(random() % static_cast<unsigned>(node.input_size())), name);
  }
}

/// Writes the model to where libFuzzer wants it, and returns its size; 0 if it is too large.
inline size_t StoreModel(const onnx::ModelProto& model, uint8_t* data, size_t most) {
  const size_t bytes = model.ByteSizeLong();
  if (bytes > most || !model.SerializeToArray(data, static_cast<int>(bytes))) return 0;
  return bytes;
}

/// Changes the model in place; what is none changes by its bytes.
inline size_t ChangeModel(uint8_t* data, size_t bytes, size_t most, std::mt19937& random) {
  onnx::ModelProto model;
  if (random() % 4 == 0 || !ParseModel(model, data, bytes)) {
    return LLVMFuzzerMutate(data, bytes, most);
  }
  MessageMutator mutator(random);
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    if (random() % 3 == 0 && model.graph().node_size() > 0) {
      ChangeNode(*model.mutable_graph(), random);
    } else {
      mutator.Change(model);
    }
  }
  const size_t changed = StoreModel(model, data, most);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, bytes, most);
}

/// Both graphs in one: nodes find operands by name, and names of small models are often the same.
inline size_t JoinModels(const uint8_t* first, size_t first_bytes, const uint8_t* second,
                         size_t second_bytes, uint8_t* out, size_t most, std::mt19937& random) {
  onnx::ModelProto model;
  onnx::ModelProto other;
  if (!ParseModel(model, first, first_bytes) || !ParseModel(other, second, second_bytes)) return 0;
  onnx::GraphProto& added = *other.mutable_graph();
  if (random() % 2 == 0) {
    // The outputs of the one are the inputs of the other's nodes, in their order.
    for (auto& node : *added.mutable_node()) {
      for (auto& name : *node.mutable_output()) name += "2";
      for (auto& name : *node.mutable_input()) {
        const auto outputs = static_cast<unsigned>(model.graph().output_size());
        if (outputs > 0 && random() % 2 == 0) {
          name = model.graph().output(static_cast<int>(random() % outputs)).name();
        }
      }
    }
    for (auto& output : *added.mutable_output()) output.set_name(output.name() + "2");
  }
  model.mutable_graph()->MergeFrom(added);
  constexpr size_t kMostJoined = 8192;  // joined ones are joined again
  return StoreModel(model, out, std::min(most, kMostJoined));
}

}  // namespace tenon::fuzz
