#include "converter/quantize/choose_ops.hpp"

#include <algorithm>

#include "converter/ir/rewrite.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool IsConstantInput(const Graph& graph, const Op& op, size_t index) {
  const TensorId id = op.InputOrNone(index);
  return id != kNone && graph.tensor(id).IsConstant();
}

std::string WhyLayerFloat(const Graph& graph, const Op& op) {
  if (graph.tensor(op.inputs.front()).IsConstant()) return "its first operand is constant";
  if (!IsConstantInput(graph, op, GemmInput::kWeights)) return "its weights are not constant";
  if (op.InputOrNone(GemmInput::kBias) != kNone && !IsConstantInput(graph, op, GemmInput::kBias)) {
    return "its bias is not constant";
  }
  if (GetActivation(op).function != UnaryFunction::kIdentity) return "it has an activation";
  if (op.inputs.size() > GemmInput::kBias + 1) return "it has more inputs than weights and bias";
  const Shape& output = graph.tensor(op.outputs.front()).shape;
  const int32_t channels = output[ChannelAxis(graph, op)];
  if (op.kind == OpKind::kMatMul && graph.tensor(op.inputs[GemmInput::kWeights]).shape.rank != 2) {
    return "its weights are no matrix";
  }
  const TensorId bias = op.InputOrNone(GemmInput::kBias);
  if (bias != kNone) {
    const Shape& shape = graph.tensor(bias).shape;
    const bool one_each = shape.Elements() == channels && shape.rank > 0 &&
                          (op.kind == OpKind::kConv || shape[shape.rank - 1] == channels);
    if (!one_each) return "its bias is not one value per channel";
  }
  return "";
}

std::string WhyBinaryFloat(const Op& op) {
  switch (op.attributes.As<BinaryAttributes>().function) {
    case BinaryFunction::kAdd:
    case BinaryFunction::kSub:
    case BinaryFunction::kMul:
      return GetActivation(op).function == UnaryFunction::kIdentity ? "" : "it has an activation";
    default:
      return "the function has no integer form worth taking";
  }
}

/// Returns true for functions that a table of 256 values represents well: they grow no faster than
/// their argument.
std::string WhyUnaryFloat(const Op& op) {
  switch (op.attributes.As<UnaryAttributes>().function) {
    case UnaryFunction::kExp:
    case UnaryFunction::kLog:
    case UnaryFunction::kSqrt:
    case UnaryFunction::kReciprocal:
    case UnaryFunction::kNot:
      return "the function's values span too much for 256 steps";
    default:
      return "";
  }
}

std::string WhyLayerNormFloat(const Graph& graph, const Op& op) {
  if (op.attributes.As<LayerNormAttributes>().rms != 0) {
    return "without a mean its zero point would have to be 0";
  }
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    if (!IsConstantInput(graph, op, i)) return "its parameters are not constant";
  }
  return "";
}

std::string WhyKindFloat(const Graph& graph, const Op& op) {
  switch (op.kind) {
    case OpKind::kConv:
    case OpKind::kMatMul:
      return WhyLayerFloat(graph, op);
    case OpKind::kBinary:
      return WhyBinaryFloat(op);
    case OpKind::kUnary:
      return WhyUnaryFloat(op);
    case OpKind::kReduce:
      return op.attributes.As<ReduceAttributes>().function == ReduceFunction::kMean
                 ? ""
                 : "of reductions only the mean keeps to the scale of its input";
    case OpKind::kResize:
      return op.attributes.As<ResizeAttributes>().mode == ResizeMode::kNearest
                 ? ""
                 : "interpolation has no integer form";
    case OpKind::kPad: {
      const PadAttributes pad = op.attributes.As<PadAttributes>();
      return pad.mode == PadMode::kConstant && pad.value != 0 ? "it pads with another value than 0"
                                                              : "";
    }
    case OpKind::kAveragePool:
      return "";
    case OpKind::kLayerNorm:
      return WhyLayerNormFloat(graph, op);
    case OpKind::kSoftmax:
      return "256 steps are too few for probabilities";
    default:
      return TraitsOf(op.kind).keeps_scale ? "" : "there is no integer form";
  }
}

/// Returns true for relu and clip, which become the bounds of the op before them.
bool IsBound(const Op& op) {
  if (op.kind != OpKind::kUnary) return false;
  const UnaryFunction function = op.attributes.As<UnaryAttributes>().function;
  return function == UnaryFunction::kRelu || function == UnaryFunction::kClip;
}

/// Returns the op whose bounds this one becomes, or kNone.
OpId OpBounded(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!IsBound(op)) return kNone;
  const TensorId input = op.inputs.front();
  const OpId producer = graph.tensor(input).producer;
  if (producer == kNone || graph.OnlyConsumer(input) != id) return kNone;
  const OpKind kind = graph.op(producer).kind;
  return TraitsOf(kind).IsFloatGemm() || kind == OpKind::kBinary ? producer : kNone;
}

bool IsReadByInteger(const Graph& graph, TensorId id, const IntegerOps& chosen) {
  const std::vector<OpId> readers = graph.Consumers(id);
  return std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
    if (!chosen.Has(reader)) return false;
    const std::vector<TensorId> data = DataInputs(graph.op(reader));
    return std::find(data.begin(), data.end(), id) != data.end();
  });
}

bool ReadsIntegers(const Graph& graph, const Op& op, const IntegerOps& chosen) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
    return id != kNone && chosen.Has(graph.tensor(id).producer);
  });
}

/// Returns true for an op that is no layer and gains nothing from integers.
bool IsBetterFloat(const Graph& graph, OpId id, const IntegerOps& chosen) {
  const Op& op = graph.op(id);
  if (TraitsOf(op.kind).IsFloatGemm()) return false;
  if (!IsReadByInteger(graph, op.outputs.front(), chosen)) return true;
  return !TraitsOf(op.kind).keeps_scale && !ReadsIntegers(graph, op, chosen);
}

}  // namespace

std::string WhyFloat(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (op.outputs.size() != 1) return "it has several results";
  if (graph.tensor(op.outputs.front()).dtype != DType::kF32) return "it does not compute in f32";
  for (const TensorId input : DataInputs(op)) {
    if (graph.tensor(input).dtype != DType::kF32) return "it does not read f32";
  }
  return WhyKindFloat(graph, op);
}

std::vector<TensorId> DataInputs(const Op& op) {
  if (op.inputs.empty()) return {};
  if (op.kind == OpKind::kBinary) return {op.inputs[BinaryInput::kX], op.inputs[BinaryInput::kY]};
  if (op.kind == OpKind::kConcat) return op.inputs;
  return {op.inputs.front()};
}

IntegerOps ChooseIntegerOps(const Graph& graph, const std::set<OpId>& keep) {
  IntegerOps chosen;
  for (const OpId id : graph.OpOrder()) {
    if (!keep.contains(id) && WhyFloat(graph, id).empty()) chosen.ops.insert(id);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const OpId id : graph.OpOrder()) {
      if (!chosen.Has(id) || !IsBetterFloat(graph, id, chosen)) continue;
      chosen.ops.erase(id);
      changed = true;
    }
  }
  for (const OpId id : chosen.ops) {
    if (chosen.Has(OpBounded(graph, id))) chosen.inner.insert(graph.op(id).inputs.front());
  }
  return chosen;
}

std::set<TensorId> QuantizedTensors(const Graph& graph, const IntegerOps& chosen) {
  std::set<TensorId> tensors;
  for (const OpId id : chosen.ops) {
    for (const TensorId input : DataInputs(graph.op(id))) {
      if (!chosen.inner.contains(input)) tensors.insert(input);
    }
  }
  return tensors;
}

}  // namespace tenon::converter
