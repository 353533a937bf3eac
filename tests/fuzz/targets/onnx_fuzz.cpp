// ONNX files through the importer, which folds what shapes depend on: a graph or an error.
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/import/operator_list.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"
#include "tests/fuzz/targets/message_mutator.hpp"

namespace {

const std::vector<tenon::converter::ImportedOperator>& Operators() {
  static const auto* const list =
      new std::vector<tenon::converter::ImportedOperator>(tenon::converter::OnnxOperators());
  return *list;
}

bool Parse(onnx::ModelProto& model, const uint8_t* data, size_t bytes) {
  return model.ParseFromArray(data, static_cast<int>(bytes)) && model.graph().node_size() > 0;
}

/// Another operator, or an operand of another node: fields alone rarely lead there.
void ChangeNode(onnx::GraphProto& graph, std::mt19937& random) {
  const auto node_count = static_cast<unsigned>(graph.node_size());
  onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(random() % node_count));
  if (random() % 2 == 0) {
    const auto& other = Operators()[random() % Operators().size()];
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

size_t Store(const onnx::ModelProto& model, uint8_t* data, size_t most) {
  const size_t bytes = model.ByteSizeLong();
  if (bytes > most || !model.SerializeToArray(data, static_cast<int>(bytes))) return 0;
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  (void)tenon::converter::ImportOnnx(file.path(), tenon::fuzz::FuzzImportOptions(),
                                     tenon::converter::FoldTensors);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  onnx::ModelProto model;
  if (random() % 4 == 0 || !Parse(model, data, bytes)) return LLVMFuzzerMutate(data, bytes, most);
  tenon::fuzz::MessageMutator mutator(random);
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    if (random() % 3 == 0 && model.graph().node_size() > 0) {
      ChangeNode(*model.mutable_graph(), random);
    } else {
      mutator.Change(model);
    }
  }
  const size_t changed = Store(model, data, most);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, bytes, most);
}

/// Both graphs in one: nodes find operands by name, and names of small models are often the same.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  onnx::ModelProto model;
  onnx::ModelProto other;
  if (!Parse(model, first, first_bytes) || !Parse(other, second, second_bytes)) return 0;
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
  return Store(model, out, std::min(most, kMostJoined));
}
