#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// One op of a chain.
struct Step {
  OpId op = kNone;
  TensorId value = kNone;    ///< that the step before made; of the first one x
  TensorId operand = kNone;  ///< the other one, of binary ops
  bool is_second = true;     ///< the operand is the op's second one
};

bool IsF32(const Graph& graph, TensorId id) { return graph.tensor(id).dtype == DType::kF32; }

/// Returns true for ops that may be a step: functions of f32 with an f32 result.
bool IsStep(const Graph& graph, OpId id) {
  if (id == kNone) return false;
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kUnary && op.kind != OpKind::kBinary) return false;
  return IsF32(graph, op.inputs[0]) && IsF32(graph, op.outputs[0]);
}

/// Returns the step before that makes input `index` for nothing but this op, or kNone.
OpId StepBefore(const Graph& graph, const Op& op, size_t index) {
  const OpId producer = graph.tensor(op.inputs[index]).producer;
  const bool reads_it_twice = op.inputs.size() == 2 && op.inputs[0] == op.inputs[1];
  if (reads_it_twice || !IsStep(graph, producer)) return kNone;
  return graph.OnlyConsumer(op.inputs[index]) != kNone ? producer : kNone;
}

/// Returns which input of the op is the value that its step starts from, computed or constant, or
/// the number of inputs if none of these has the shape of the result: that of a step before if
/// there is one.
size_t ValueOf(const Graph& graph, const Op& op, bool is_constant) {
  const Shape& shape = graph.tensor(op.outputs[0]).shape;
  size_t value = op.inputs.size();
  for (size_t i = op.inputs.size(); i-- > 0;) {
    const Tensor& input = graph.tensor(op.inputs[i]);
    if (input.IsConstant() != is_constant || input.shape != shape) continue;
    const bool is_better = value == op.inputs.size() || StepBefore(graph, op, i) != kNone ||
                           StepBefore(graph, op, value) == kNone;
    if (is_better) value = i;
  }
  return value;
}

/// Returns the op as a step; its value is kNone if no input has the shape of the result. Weights
/// times what a network computes may begin a chain.
Step StepOf(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  Step step;
  step.op = id;
  size_t value = ValueOf(graph, op, /*is_constant=*/false);
  if (value == op.inputs.size()) value = ValueOf(graph, op, /*is_constant=*/true);
  if (value == op.inputs.size()) return step;
  step.value = op.inputs[value];
  if (op.inputs.size() < 2) return step;
  step.operand = op.inputs[1 - value];
  step.is_second = value == 0;
  return step;
}

/// Operands of fewer bytes may wait for each other: that costs less than the start of an op.
constexpr int64_t kFewBytes = 16 << 10;

/// Returns true for an operand that takes about as much memory as the values, and not little.
bool IsLargeOperand(const Graph& graph, const Step& step) {
  if (step.operand == kNone || graph.tensor(step.operand).IsConstant()) return false;
  const int64_t bytes = graph.tensor(step.operand).ByteSize();
  return bytes > kFewBytes && 2 * bytes > graph.tensor(step.value).ByteSize();
}

/// Returns true for a step whose operand is a row of elements along one axis, again and again: a
/// binary op by itself starts anew at each of its rows, which costs as much as some hundred
/// elements do, where steps read it from a tile.
bool HasShortOperand(const Graph& graph, const Step& step) {
  constexpr int64_t kLongest = 256;
  constexpr int64_t kFewestRows = 16;
  if (step.operand == kNone) return false;
  const Shape& shape = graph.tensor(step.operand).shape;
  const int64_t elements = shape.Elements();
  if (elements < 2 || elements > kLongest) return false;
  if (graph.tensor(step.value).shape.Elements() < kFewestRows * elements) return false;
  return std::count_if(shape.dims, shape.dims + shape.rank, [](int32_t dim) { return dim > 1; }) ==
         1;
}

/// Returns how many of the last steps of a chain may be one op: those with at most one large
/// operand that is not x, which is there anyway. Of two, one that is computed early would wait for
/// one that is computed late, where a value between them takes half the memory.
size_t StepsInOne(const Graph& graph, const std::vector<Step>& from_last) {
  size_t longest = 0;
  std::set<TensorId> large;
  for (size_t k = 0; k < from_last.size(); ++k) {
    const Step& step = from_last[k];
    if (IsLargeOperand(graph, step)) large.insert(step.operand);
    if (large.size() - large.count(step.value) <= 1) longest = k + 1;
  }
  return longest;
}

/// Returns the chain that ends with this op, first step first.
std::vector<Step> ChainTo(const Graph& graph, OpId last) {
  std::vector<Step> chain;
  for (OpId id = last; id != kNone && chain.size() < size_t{kMostElementwiseSteps};) {
    const Step step = StepOf(graph, id);
    if (step.value == kNone) break;
    chain.push_back(step);
    const Op& op = graph.op(id);
    id = StepBefore(graph, op, op.inputs[0] == step.value ? 0 : 1);
  }
  chain.resize(StepsInOne(graph, chain));
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// Returns which input of the op the tensor is, beyond x, and adds it if it is none yet.
int32_t OperandIndex(Op& op, TensorId operand) {
  const auto found = std::find(op.inputs.begin() + 1, op.inputs.end(), operand);
  const auto index = static_cast<int32_t>(found - op.inputs.begin());
  if (found == op.inputs.end()) op.inputs.push_back(operand);
  return index;
}

/// True if the activation of a binary op would be faster as a step of its own: alone the function
/// has a fast kernel, which steps use, while behind a binary function portable code computes it.
bool IsOwnStep(const Graph& graph, const Op& binary, const PassContext& context) {
  const Activation activation = binary.attributes.As<BinaryAttributes>().activation;
  if (activation.function == UnaryFunction::kIdentity || !context.has_fast_kernel) return false;
  Op alone = binary;
  alone.kind = OpKind::kUnary;
  alone.inputs = {binary.outputs[0]};
  alone.attributes = Attributes(UnaryAttributes{activation.function, activation.a, activation.b});
  return context.has_fast_kernel(graph, alone);
}

/// Collects the steps of an op in the place of a chain's last op.
class StepList {
 public:
  StepList(const Graph& graph, const std::vector<Step>& chain, const PassContext& context)
      : op_(graph.op(chain.back().op)) {
    op_.kind = OpKind::kElementwise;
    op_.inputs = {chain.front().value};
    size_t room = size_t{kMostElementwiseSteps} - chain.size();
    for (const Step& step : chain) {
      const Op& piece = graph.op(step.op);
      if (piece.kind == OpKind::kUnary) {
        const auto unary = piece.attributes.As<UnaryAttributes>();
        AddUnary({unary.function, unary.a, unary.b});
        continue;
      }
      const bool is_own = room > 0 && IsOwnStep(graph, piece, context);
      AddBinary(step, piece.attributes.As<BinaryAttributes>(), is_own);
      if (is_own) --room;
    }
    op_.attributes = Attributes(attributes_);
  }

  [[nodiscard]] int32_t count() const { return attributes_.steps; }
  [[nodiscard]] Op& op() { return op_; }

 private:
  void AddUnary(const Activation& activation) {
    attributes_.activations[attributes_.steps] = activation.function;
    attributes_.a[attributes_.steps] = activation.a;
    attributes_.b[attributes_.steps] = activation.b;
    ++attributes_.steps;
  }

  void AddBinary(const Step& step, const BinaryAttributes& binary, bool activation_is_own_step) {
    const int32_t index = OperandIndex(op_, step.operand);
    attributes_.operands[attributes_.steps] = step.is_second ? index : -index;
    attributes_.functions[attributes_.steps] = binary.function;
    AddUnary(activation_is_own_step ? Activation{} : binary.activation);
    if (activation_is_own_step) AddUnary(binary.activation);
  }

  Op op_;
  ElementwiseAttributes attributes_;
};

/// Why the ops are better left apart, or an empty text.
std::string WhyNot(const Graph& graph, const std::vector<Step>& chain, const Op& elementwise,
                   const PassContext& context) {
  if (!context.has_fast_kernel || !context.has_fast_kernel(graph, elementwise)) {
    return "no fast kernel computes its chain of elementwise ops as one op";
  }
  if (!context.why_worse_kernel) return "";
  for (const Step& step : chain) {
    std::string reason = context.why_worse_kernel(graph, graph.op(step.op), elementwise);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace

Status FuseElementwise(Graph& graph, PassContext& context) {
  std::vector<OpId> order = graph.OpOrder();
  std::reverse(order.begin(), order.end());
  std::set<OpId> declined;  // with the chain that they are part of
  for (const OpId id : order) {
    if (!graph.IsOp(id) || !IsStep(graph, id) || declined.count(id) != 0) continue;
    const std::vector<Step> chain = ChainTo(graph, id);
    if (chain.empty()) continue;
    StepList steps(graph, chain, context);
    if (steps.count() < 2 && !HasShortOperand(graph, chain.front())) continue;
    Op& elementwise = steps.op();
    const std::string reason = WhyNot(graph, chain, elementwise, context);
    if (!reason.empty()) {
      if (steps.count() > 1) Decline(graph, id, reason, context.report);
      for (const Step& step : chain) declined.insert(step.op);
      continue;
    }
    for (const Step& step : chain) {
      if (step.op != id) RecordFusion(graph, id, step.op);
    }
    Op& op = graph.MutableOp(id);
    op.kind = elementwise.kind;
    op.attributes = elementwise.attributes;
    op.inputs = std::move(elementwise.inputs);
    if (chain.size() > 1) EraseIfUnread(graph, chain[chain.size() - 2].op);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
