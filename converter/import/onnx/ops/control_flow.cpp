// If, Loop and Scan. A branch that is known at conversion stands in the graph's place, and so does
// every iteration of a loop; of a condition that is computed, both branches do.
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>

#include "converter/import/guard_branch.hpp"
#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

using Ids = std::vector<TensorId>;

/// A loop of more iterations would make a graph that nothing can plan in reasonable time.
constexpr int64_t kMostIterations = 4096;

Result<int64_t> OneConstant(Lowering& node, TensorId id, const char* what) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(id));
  if (values.size() != 1) return InputError("{} has {} elements", what, values.size());
  return values[0];
}

Status CheckBranch(const Lowering& node, const Ids& outputs) {
  if (static_cast<int>(outputs.size()) == node.OutputCount()) return {};
  return InputError("its branch has {} outputs instead of {}", outputs.size(), node.OutputCount());
}

/// Takes both branches, of whose outputs the condition chooses when it is known: nothing else
/// makes a difference, since ops have no effect but their outputs and, of indices, errors.
Status ChooseWhenRun(Lowering& node, TensorId condition, const onnx::GraphProto& then_branch,
                     const onnx::GraphProto& else_branch) {
  if (node.DTypeOf(condition) != DType::kBool || node.ShapeOf(condition).Elements() != 1) {
    return InputError("its condition is no single bool");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId chosen, node.Reshape(condition, {}));
  TENON_ASSIGN_OR_RETURN(const BranchOps then_ops, BranchOps::Begin(node.graph(), chosen));
  TENON_ASSIGN_OR_RETURN(const Ids thens, node.Inline(then_branch, {}, "then"));
  TENON_RETURN_IF_ERROR(then_ops.Guard(node.graph(), chosen, true));
  TENON_ASSIGN_OR_RETURN(const BranchOps else_ops, BranchOps::Begin(node.graph(), chosen));
  TENON_ASSIGN_OR_RETURN(const Ids elses, node.Inline(else_branch, {}, "else"));
  TENON_RETURN_IF_ERROR(else_ops.Guard(node.graph(), chosen, false));
  TENON_RETURN_IF_ERROR(CheckBranch(node, thens));
  TENON_RETURN_IF_ERROR(CheckBranch(node, elses));
  for (int i = 0; i < node.OutputCount(); ++i) {
    const TensorId x = thens[static_cast<size_t>(i)];
    const TensorId y = elses[static_cast<size_t>(i)];
    if (node.SequenceOf(x) != nullptr || node.SequenceOf(y) != nullptr) {
      return InputError("its branches give a sequence");
    }
    if (node.ShapeOf(x) != node.ShapeOf(y) || node.DTypeOf(x) != node.DTypeOf(y)) {
      return InputError("its branches give [{}] and [{}]", fmt::join(DimsOf(node.ShapeOf(x)), ","),
                        fmt::join(DimsOf(node.ShapeOf(y)), ","));
    }
    TENON_RETURN_IF_ERROR(node.Emit(OpKind::kSelect, {chosen, x, y}, Attributes(), i).status());
  }
  node.Warn(WhyBothBranches(node.graph(), condition));
  return {};
}

Status LowerIf(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId condition, node.Input(0));
  const onnx::GraphProto* then_branch = node.GraphAttribute("then_branch");
  const onnx::GraphProto* else_branch = node.GraphAttribute("else_branch");
  if (then_branch == nullptr || else_branch == nullptr) return InputError("a branch is missing");
  const Result<int64_t> taken = OneConstant(node, condition, "its condition");
  if (!taken.ok()) {
    Status chosen = ChooseWhenRun(node, condition, *then_branch, *else_branch);
    if (chosen.ok() || chosen.error().kind == ErrorKind::kDoesNotFit) return chosen;
    return InputError("{}; or both branches are in the plan, but {}", taken.error().message,
                      chosen.error().message);
  }
  TENON_ASSIGN_OR_RETURN(const Ids outputs, *taken != 0 ? node.Inline(*then_branch, {}, "then")
                                                        : node.Inline(*else_branch, {}, "else"));
  TENON_RETURN_IF_ERROR(CheckBranch(node, outputs));
  for (int i = 0; i < node.OutputCount(); ++i) node.Alias(i, outputs[static_cast<size_t>(i)]);
  return {};
}

/// The values of one scan output, stacked along a new axis, as an output of the node.
Status Stack(Lowering& node, const Ids& values, int64_t given_axis, bool reversed, int output) {
  if (values.empty()) return InputError("an output would be empty: it has no iterations");
  std::vector<int64_t> dims = DimsOf(node.ShapeOf(values[0]));
  TENON_ASSIGN_OR_RETURN(const int32_t axis,
                         node.Axis(given_axis, static_cast<int32_t>(dims.size()) + 1));
  dims.insert(dims.begin() + axis, 1);
  Ids slices;
  for (const TensorId value : values) {
    if (node.SequenceOf(value) != nullptr) return InputError("a scan output is a sequence");
    TENON_ASSIGN_OR_RETURN(const TensorId slice, node.Reshape(value, dims));
    slices.push_back(slice);
  }
  if (reversed) std::reverse(slices.begin(), slices.end());
  if (slices.size() == 1) {
    node.Alias(output, slices[0]);
    return {};
  }
  ConcatAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kConcat, slices, Attributes(attributes), output).status();
}

struct LoopState {
  Ids carried;
  std::vector<Ids> stacked;  ///< of each scan output, its value in each iteration
};

/// One iteration's outputs, of which the first `skipped` are something else: the carried values,
/// then the scan outputs.
Status TakeOutputs(const Ids& outputs, size_t skipped, LoopState& state) {
  const size_t carried = state.carried.size();
  if (outputs.size() != skipped + carried + state.stacked.size()) {
    return InputError("its body has {} outputs", outputs.size());
  }
  std::copy_n(outputs.begin() + static_cast<std::ptrdiff_t>(skipped), carried,
              state.carried.begin());
  for (size_t i = 0; i < state.stacked.size(); ++i) {
    state.stacked[i].push_back(outputs[skipped + carried + i]);
  }
  return {};
}

Status LowerLoop(Lowering& node) {
  const onnx::GraphProto* body = node.GraphAttribute("body");
  if (body == nullptr) return InputError("its body is missing");
  int64_t trips = std::numeric_limits<int64_t>::max();
  bool goes_on = true;
  if (node.HasInput(0)) {
    TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(0));
    TENON_ASSIGN_OR_RETURN(trips, OneConstant(node, input, "its trip count"));
  }
  if (node.HasInput(1)) {
    TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(1));
    TENON_ASSIGN_OR_RETURN(const int64_t condition, OneConstant(node, input, "its condition"));
    goes_on = condition != 0;
  }
  LoopState state;
  for (int i = 2; i < node.InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId value, node.Input(i));
    state.carried.push_back(value);
  }
  const int carried = static_cast<int>(state.carried.size());
  if (node.OutputCount() < carried) return InputError("it has too few outputs");
  state.stacked.resize(static_cast<size_t>(node.OutputCount() - carried));
  for (int64_t i = 0; i < trips && goes_on; ++i) {
    if (i == kMostIterations) return InputError("more than {} iterations", kMostIterations);
    TENON_ASSIGN_OR_RETURN(const TensorId iteration,
                           node.Scalar("iteration", DType::kI64, static_cast<double>(i)));
    TENON_ASSIGN_OR_RETURN(const TensorId yes, node.Scalar("condition", DType::kBool, 1));
    Ids inputs = {iteration, yes};
    inputs.insert(inputs.end(), state.carried.begin(), state.carried.end());
    TENON_ASSIGN_OR_RETURN(const Ids outputs, node.Inline(*body, inputs, std::to_string(i)));
    if (outputs.empty()) return InputError("its body has no outputs");
    TENON_RETURN_IF_ERROR(TakeOutputs(outputs, 1, state));
    if (!node.HasInput(1)) continue;  // then the number of iterations alone decides
    node.FoldCounters(state.carried);
    TENON_ASSIGN_OR_RETURN(const int64_t again, OneConstant(node, outputs[0], "its condition"));
    goes_on = again != 0;
  }
  for (int i = 0; i < carried; ++i) node.Alias(i, state.carried[static_cast<size_t>(i)]);
  for (int i = carried; i < node.OutputCount(); ++i) {
    if (!node.OutputUsed(i)) continue;
    TENON_RETURN_IF_ERROR(
        Stack(node, state.stacked[static_cast<size_t>(i - carried)], 0, false, i));
  }
  return {};
}

/// Element `index` of x along `axis`, without that axis.
Result<TensorId> At(Lowering& node, TensorId x, int32_t axis, int32_t index) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Slice(x, SliceAlong(shape, axis, index, 1)));
  std::vector<int64_t> dims = DimsOf(shape);
  dims.erase(dims.begin() + axis);
  return node.Reshape(one, dims);
}

int64_t ValueAt(const std::vector<int64_t>& values, size_t index) {
  return index < values.size() ? values[index] : 0;
}

Status LowerScan(Lowering& node) {
  if (node.opset() < 9) return InputError("this form, of before opset 9, is not supported");
  const onnx::GraphProto* body = node.GraphAttribute("body");
  if (body == nullptr) return InputError("its body is missing");
  const int64_t scans = node.Int("num_scan_inputs", 0);
  const std::vector<int64_t> input_axes = node.Ints("scan_input_axes");
  const std::vector<int64_t> input_directions = node.Ints("scan_input_directions");
  const std::vector<int64_t> output_axes = node.Ints("scan_output_axes");
  const std::vector<int64_t> output_directions = node.Ints("scan_output_directions");
  TENON_ASSIGN_OR_RETURN(const Ids inputs, node.Inputs());
  if (scans < 1 || scans > static_cast<int64_t>(inputs.size())) {
    return InputError("num_scan_inputs is {}", scans);
  }
  LoopState state;
  state.carried.assign(inputs.begin(), inputs.end() - scans);
  const size_t carried = state.carried.size();
  if (static_cast<size_t>(node.OutputCount()) < carried)
    return InputError("it has too few outputs");
  state.stacked.resize(static_cast<size_t>(node.OutputCount()) - carried);
  std::vector<int32_t> axes;
  int32_t length = 0;
  for (size_t k = 0; k < static_cast<size_t>(scans); ++k) {
    const Shape shape = node.ShapeOf(inputs[carried + k]);
    TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(ValueAt(input_axes, k), shape.rank));
    if (k > 0 && shape[axis] != length) return InputError("its sequences differ in length");
    length = shape[axis];
    axes.push_back(axis);
  }
  if (length > kMostIterations) return InputError("more than {} iterations", kMostIterations);
  for (int32_t t = 0; t < length; ++t) {
    Ids given = state.carried;
    for (size_t k = 0; k < axes.size(); ++k) {
      const int32_t at = ValueAt(input_directions, k) != 0 ? length - 1 - t : t;
      TENON_ASSIGN_OR_RETURN(const TensorId element, At(node, inputs[carried + k], axes[k], at));
      given.push_back(element);
    }
    TENON_ASSIGN_OR_RETURN(const Ids outputs, node.Inline(*body, given, std::to_string(t)));
    TENON_RETURN_IF_ERROR(TakeOutputs(outputs, 0, state));
  }
  for (size_t i = 0; i < carried; ++i) node.Alias(static_cast<int>(i), state.carried[i]);
  for (size_t i = 0; i < state.stacked.size(); ++i) {
    const auto output = static_cast<int>(carried + i);
    if (!node.OutputUsed(output)) continue;
    TENON_RETURN_IF_ERROR(Stack(node, state.stacked[i], ValueAt(output_axes, i),
                                ValueAt(output_directions, i) != 0, output));
  }
  return {};
}

constexpr LoweringRow kControlFlowRows[] = {
    {"If",
     LowerIf,
     {},
     "condition known at conversion (--freeze), or branches of the same shapes, both in the plan"},
    {"Loop", LowerLoop, {}, "number of iterations known at conversion, at most 4096"},
    {"Scan", LowerScan, {}, "since opset 9; at most 4096 iterations"},
};

}  // namespace

constexpr Span<const LoweringRow> kControlFlowLowerings = kControlFlowRows;

}  // namespace tenon::converter
