// IF and WHILE, where the branch and the number of rounds are known at conversion: the branch
// stands in the node's place, and so does every round.
#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Ids = std::vector<TensorId>;

/// A loop of more rounds would make a graph that nothing can plan in reasonable time.
constexpr int kMostRounds = 1024;

/// Inputs from `first` on, as the file holds them.
Result<Ids> InputsFrom(Node& node, int first) {
  Ids inputs;
  for (int i = first; i < node.InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(inputs.emplace_back(), node.Input(i));
  }
  return inputs;
}

Status SetOutputs(Node& node, const Ids& outputs) {
  if (static_cast<int>(outputs.size()) != node.OutputCount()) {
    return InputError("its graph has {} outputs instead of {}", outputs.size(), node.OutputCount());
  }
  for (int i = 0; i < node.OutputCount(); ++i) {
    TENON_RETURN_IF_ERROR(node.SetOutput(i, outputs[static_cast<size_t>(i)]));
  }
  return {};
}

/// What a graph's only output says, which must be known now.
Result<bool> IsTrue(Node& node, const Ids& outputs) {
  if (outputs.size() != 1 || node.DTypeOf(outputs[0]) != DType::kBool ||
      node.ShapeOf(outputs[0]).Elements() != 1) {
    return InputError("its condition is no single bool");
  }
  TENON_RETURN_IF_ERROR(node.RequireConstant(outputs[0]));
  return node.graph().tensor(outputs[0]).constant->front() != std::byte{0};
}

}  // namespace

Status LowerIf(Node& node) {
  const auto* options = node.stored().builtin_options_as_IfOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId condition, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const bool taken, IsTrue(node, {condition}));
  TENON_ASSIGN_OR_RETURN(const Ids inputs, InputsFrom(node, 1));
  const int32_t graph = taken ? options->then_subgraph_index() : options->else_subgraph_index();
  TENON_ASSIGN_OR_RETURN(const Ids outputs, node.Inline(graph, inputs));
  return SetOutputs(node, outputs);
}

Status LowerWhile(Node& node) {
  const auto* options = node.stored().builtin_options_as_WhileOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(Ids values, InputsFrom(node, 0));
  const size_t carried = values.size();
  for (int round = 0;; ++round) {
    TENON_ASSIGN_OR_RETURN(const Ids said, node.Inline(options->cond_subgraph_index(), values));
    TENON_ASSIGN_OR_RETURN(const bool goes_on, IsTrue(node, said));
    if (!goes_on) return SetOutputs(node, values);
    if (round == kMostRounds) return InputError("more than {} rounds", kMostRounds);
    TENON_ASSIGN_OR_RETURN(values, node.Inline(options->body_subgraph_index(), values));
    if (values.size() != carried) return InputError("its body has {} outputs", values.size());
  }
}

}  // namespace tenon::converter::tflite
