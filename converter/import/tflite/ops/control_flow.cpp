// IF, WHILE and STABLEHLO_COMPOSITE. A branch that is known at conversion stands in the node's
// place, and so does every round of a loop; of a condition that is computed, both branches do.
#include <fmt/ranges.h>

#include "converter/import/guard_branch.hpp"
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

struct Branches {
  int32_t then_graph;
  int32_t else_graph;
};

/// Takes both branches, of whose outputs the condition chooses when it is known: nothing else
/// makes a difference, since there are no variables in them, but errors of indices.
Status ChooseWhenRun(Node& node, TensorId condition, const Branches& branches, const Ids& inputs) {
  if (node.DTypeOf(condition) != DType::kBool || node.ShapeOf(condition).Elements() != 1) {
    return InputError("its condition is no single bool");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId chosen, node.Reshape(condition, {}));
  TENON_ASSIGN_OR_RETURN(const BranchOps then_ops, BranchOps::Begin(node.graph(), chosen));
  TENON_ASSIGN_OR_RETURN(const Ids thens, node.Inline(branches.then_graph, inputs));
  TENON_RETURN_IF_ERROR(then_ops.Guard(node.graph(), chosen, true));
  TENON_ASSIGN_OR_RETURN(const BranchOps else_ops, BranchOps::Begin(node.graph(), chosen));
  TENON_ASSIGN_OR_RETURN(const Ids elses, node.Inline(branches.else_graph, inputs));
  TENON_RETURN_IF_ERROR(else_ops.Guard(node.graph(), chosen, false));
  if (thens.size() != elses.size()) {
    return InputError("its branches have {} and {} outputs", thens.size(), elses.size());
  }
  Ids outputs;
  for (size_t i = 0; i < thens.size(); ++i) {
    const Shape x = node.ShapeOf(thens[i]);
    const Shape y = node.ShapeOf(elses[i]);
    if (x != y || node.DTypeOf(thens[i]) != node.DTypeOf(elses[i])) {
      return InputError("its branches give [{}] and [{}]", fmt::join(x.dims, x.dims + x.rank, ","),
                        fmt::join(y.dims, y.dims + y.rank, ","));
    }
    TENON_ASSIGN_OR_RETURN(outputs.emplace_back(),
                           node.Emit(OpKind::kSelect, {chosen, thens[i], elses[i]}, Attributes()));
  }
  node.Warn(WhyBothBranches(node.graph(), condition));
  return SetOutputs(node, outputs);
}

}  // namespace

Status LowerIf(Node& node) {
  const auto* options = node.stored().builtin_options_as_IfOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId condition, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const Ids inputs, InputsFrom(node, 1));
  const Branches branches = {options->then_subgraph_index(), options->else_subgraph_index()};
  const Result<bool> taken = IsTrue(node, {condition});
  if (!taken.ok()) {
    Status chosen = ChooseWhenRun(node, condition, branches, inputs);
    if (chosen.ok() || chosen.error().kind == ErrorKind::kDoesNotFit) return chosen;
    return InputError("{}; or both branches are in the plan, but {}", taken.error().message,
                      chosen.error().message);
  }
  TENON_ASSIGN_OR_RETURN(const Ids outputs,
                         node.Inline(*taken ? branches.then_graph : branches.else_graph, inputs));
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
    node.FoldCounters(values);
  }
}

// What a converter knows by a name, and everyone by the graph that it stands for.
Status LowerComposite(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StableHLOCompositeOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const Ids inputs, InputsFrom(node, 0));
  TENON_ASSIGN_OR_RETURN(const Ids outputs,
                         node.Inline(options->decomposition_subgraph_index(), inputs));
  return SetOutputs(node, outputs);
}

}  // namespace tenon::converter::tflite
