#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Returns true for ops that take a quotient as one of many numbers: a last bit more or less of it
/// is one of their rounding errors. Floors, comparisons and casts of it may turn into others.
bool TakesAnyRounding(const Graph& graph, const Op& op) {
  switch (op.kind) {
    case OpKind::kMatMul:
    case OpKind::kConv:
    case OpKind::kReduce:
    case OpKind::kSoftmax:
      return true;
    case OpKind::kBinary: {
      const auto& binary = op.attributes.As<BinaryAttributes>();
      if (binary.activation.function != UnaryFunction::kIdentity) return false;
      if (binary.function == BinaryFunction::kPow) return ScalarValue(graph, op.inputs[1]) == 2.0;
      // A constant factor may bring back the numerator.
      return binary.function == BinaryFunction::kMul && !graph.tensor(op.inputs[0]).IsConstant() &&
             !graph.tensor(op.inputs[1]).IsConstant();
    }
    default:
      return false;
  }
}

bool AllTakeAnyRounding(const Graph& graph, TensorId id) {
  if (graph.IsOutput(id)) return false;
  const std::vector<OpId> readers = graph.Consumers(id);
  return std::all_of(readers.begin(), readers.end(),
                     [&](OpId reader) { return TakesAnyRounding(graph, graph.op(reader)); });
}

/// Returns 1 / divisor for each; nothing where one of them is no normal number or has none.
std::vector<float> ReciprocalsOf(const Tensor& divisors) {
  std::vector<float> values(static_cast<size_t>(divisors.shape.Elements()));
  std::memcpy(values.data(), divisors.constant->data(), values.size() * sizeof(float));
  for (float& value : values) {
    const float reciprocal = 1.0F / value;
    if (!std::isnormal(value) || !std::isnormal(reciprocal)) return {};
    value = reciprocal;
  }
  return values;
}

bool IsPowerOfTwo(float value) {
  int exponent = 0;
  return std::abs(std::frexp(value, &exponent)) == 0.5F;
}

}  // namespace

Status MultiplyByReciprocals(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kBinary) continue;
    auto binary = op.attributes.As<BinaryAttributes>();
    if (binary.function != BinaryFunction::kDiv) continue;
    const Tensor& divisors = graph.tensor(op.inputs[1]);
    if (!divisors.IsConstant() || divisors.dtype != DType::kF32) continue;
    if (graph.tensor(op.inputs[0]).IsConstant()) continue;
    const std::vector<float> factors = ReciprocalsOf(divisors);
    if (factors.empty()) continue;
    const bool is_exact = std::all_of(factors.begin(), factors.end(), IsPowerOfTwo);
    const bool is_plain = binary.activation.function == UnaryFunction::kIdentity;
    if (!is_exact && !(is_plain && AllTakeAnyRounding(graph, op.outputs[0]))) continue;
    const TensorId divisor = op.inputs[1];
    const TensorId factor =
        graph.AddConstantOf(divisors.name + ".reciprocal", DType::kF32, divisors.shape, factors);
    binary.function = BinaryFunction::kMul;
    graph.MutableOp(id).attributes = Attributes(binary);
    graph.SetInput(id, 1, factor);
    if (!graph.IsRead(divisor)) graph.EraseTensor(divisor);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
