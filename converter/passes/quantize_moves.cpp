#include <cmath>
#include <utility>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Returns true for ops whose output has only elements of their first input (for concat, of all
/// inputs), except what a pad adds.
bool MovesElements(const Op& op) {
  switch (op.kind) {
    case OpKind::kMaxPool:
      return true;
    case OpKind::kResize:
      return op.attributes.As<ResizeAttributes>().mode == ResizeMode::kNearest;
    case OpKind::kReduce: {
      const auto reduce = op.attributes.As<ReduceAttributes>();
      return reduce.axes_mask != 0 &&
             (reduce.function == ReduceFunction::kMax || reduce.function == ReduceFunction::kMin);
    }
    default:
      return TraitsOf(op.kind).moves_elements;
  }
}

/// Ops that compare elements have kernels for the dtypes of activations only.
bool TakesDType(const Op& op, DType dtype) {
  if (dtype == DType::kI8 || dtype == DType::kU8) return true;
  return TraitsOf(op.kind).moves_elements;
}

/// Returns the number of elements of the dimensions before `axis`.
int64_t Before(const Shape& shape, int32_t axis) {
  int64_t count = 1;
  for (int32_t i = 0; i < axis; ++i) count *= shape[i];
  return count;
}

/// Where the op puts the dimension that the parameters run along, if it keeps that as it is.
std::optional<int32_t> MovedAxis(const Graph& graph, const Op& op, const Quantization& as) {
  if (as.PerTensor()) return 0;
  const Shape& x = graph.tensor(op.inputs.front()).shape;
  const Shape& y = graph.tensor(op.outputs.front()).shape;
  if (op.kind == OpKind::kCopy) return as.axis;
  if (op.kind == OpKind::kTranspose) {
    const auto transpose = op.attributes.As<TransposeAttributes>();
    for (int32_t i = 0; i < transpose.rank; ++i) {
      if (transpose.permutation[i] == as.axis) return i;
    }
  }
  if (op.kind == OpKind::kReshape) {
    for (int32_t i = 0; i < y.rank; ++i) {
      if (y[i] == x[as.axis] && Before(y, i) == Before(x, as.axis)) return i;
    }
  }
  return std::nullopt;
}

/// Returns a pad's value as a quantized number; none if it is not exactly representable.
std::optional<float> ExactPadValue(const Quantization& as, float value) {
  if (!std::isfinite(value)) return std::nullopt;
  const int32_t stored = QuantizedValue(as, value);
  const float back = static_cast<float>(stored - as.zero_points.front()) * as.scales.front();
  if (back != value) return std::nullopt;
  return static_cast<float>(stored);
}

/// The op's attributes where it works on elements quantized `as` this. `exact`: a pad's value must
/// be one of the numbers that those stand for.
std::optional<Attributes> MovedAttributes(const Op& op, const Quantization& as, bool exact) {
  if (op.kind != OpKind::kPad) return op.attributes;
  auto pad = op.attributes.As<PadAttributes>();
  if (pad.mode != PadMode::kConstant) return op.attributes;
  if (!as.PerTensor()) return std::nullopt;
  if (!exact) {
    pad.value = static_cast<float>(QuantizedValue(as, pad.value));
    return Attributes(pad);
  }
  const auto value = ExactPadValue(as, pad.value);
  if (!value.has_value()) return std::nullopt;
  pad.value = *value;
  return Attributes(pad);
}

class Mover {
 public:
  Mover(Graph& graph, bool log, PassReport& report) : graph_(graph), log_(log), report_(report) {}

  Result<int> Run() {
    int before = -1;
    while (before != changed_) {
      before = changed_;
      MergeEqual();
      for (const OpId id : graph_.OpOrder()) {
        if (graph_.IsOp(id)) TENON_RETURN_IF_ERROR(TryPush(id));
      }
      std::vector<OpId> backwards = graph_.OpOrder();
      std::reverse(backwards.begin(), backwards.end());
      for (const OpId id : backwards) {
        if (graph_.IsOp(id)) TENON_RETURN_IF_ERROR(TryPull(id));
      }
      for (const OpId id : graph_.OpOrder()) {
        if (graph_.IsOp(id)) TryCancel(id);
      }
    }
    return changed_;
  }

 private:
  [[nodiscard]] const Op& op(OpId id) const { return graph_.op(id); }

  void MergeEqual() {
    for (const OpId id : graph_.OpOrder()) {
      if (!graph_.IsOp(id) || op(id).kind != OpKind::kQuantize) continue;
      for (const OpId other : graph_.Consumers(op(id).inputs.front())) {
        if (other == id || !SameQuantize(id, other)) continue;
        if (graph_.IsOutput(op(other).outputs.front())) continue;
        BypassAndErase(graph_, other, op(id).outputs.front());
        ++changed_;
      }
    }
  }

  [[nodiscard]] bool SameQuantize(OpId a, OpId b) const {
    if (op(b).kind != OpKind::kQuantize || !graph_.IsBefore(a, b)) return false;
    if (op(a).inputs.front() != op(b).inputs.front()) return false;
    const auto first = PlainTargetOf(graph_, op(a));
    return first.has_value() && first == PlainTargetOf(graph_, op(b));
  }

  void Decline(OpId id, std::string_view reason) {
    if (log_) converter::Decline(graph_, id, reason, report_);
  }

  Status TryPush(OpId id) {
    if (!MovesElements(op(id)) || op(id).inputs.empty()) return {};
    const auto source = SourceOf(graph_, op(id).inputs.front());
    if (!source.has_value() || !TakesDType(op(id), source->as.dtype)) return {};
    const auto axis = MovedAxis(graph_, op(id), source->as);
    if (!axis.has_value()) {
      Decline(id, "it does not keep the dimension that scales run along");
      return {};
    }
    const auto attributes = MovedAttributes(op(id), source->as, /*exact=*/true);
    if (!attributes.has_value()) {
      Decline(id, "the quantization before it does not have the pad's value");
      return {};
    }
    std::vector<TensorId> inputs = op(id).inputs;
    const size_t count = op(id).kind == OpKind::kConcat ? inputs.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      const auto part = SourceOf(graph_, inputs[i]);
      if (!part.has_value() || part->as != source->as) return {};  // Q may be pulled through it
      inputs[i] = part->quantized;
    }
    return Push(id, *source, inputs, *attributes, *axis);
  }

  Status Push(OpId id, const Source& source, const std::vector<TensorId>& inputs,
              const Attributes& attributes, int32_t axis) {
    const TensorId old = op(id).outputs.front();
    const std::string name = graph_.tensor(old).name;
    TENON_ASSIGN_OR_RETURN(const OpId moved, graph_.InsertOp(id, op(id).kind, op(id).name, inputs,
                                                             attributes, {name + ".quantized"}));
    std::vector<TensorId> parameters = op(source.dequantize).inputs;
    parameters[0] = op(moved).outputs.front();
    TENON_ASSIGN_OR_RETURN(
        const OpId real,
        graph_.InsertOp(id, OpKind::kDequantize, op(source.dequantize).name, parameters,
                        Attributes(DequantizeAttributes{axis}), {name}));
    graph_.MutableOp(moved).source_ops = op(id).source_ops;
    const TensorId made = op(real).outputs.front();
    BypassAndErase(graph_, id, made);
    graph_.RenameTensor(made, name);
    ++changed_;
    return {};
  }

  Status TryPull(OpId id) {
    const auto target = PlainTargetOf(graph_, op(id));
    if (!target.has_value()) return {};
    const TensorId x = op(id).inputs.front();
    const OpId mover = graph_.tensor(x).producer;
    if (mover == kNone || !MovesElements(op(mover))) return {};
    const bool concat = op(mover).kind == OpKind::kConcat;
    if (graph_.OnlyConsumer(x) != id) {
      Decline(id, "what it quantizes is moved before, and read elsewhere too");
      return {};
    }
    const auto attributes = MovedAttributes(op(mover), *target, /*exact=*/false);
    return Pull(id, mover, *attributes, concat);
  }

  Status Pull(OpId id, OpId mover, const Attributes& attributes, bool concat) {
    std::vector<TensorId> inputs = op(mover).inputs;
    const size_t count = concat ? inputs.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      std::vector<TensorId> operands = op(id).inputs;
      operands[0] = inputs[i];
      const std::string name = graph_.tensor(inputs[i]).name + ".quantized";
      TENON_ASSIGN_OR_RETURN(const OpId made, graph_.InsertOp(mover, OpKind::kQuantize, op(id).name,
                                                              operands, op(id).attributes, {name}));
      inputs[i] = op(made).outputs.front();
    }
    const std::string name = graph_.tensor(op(id).outputs.front()).name;
    TENON_ASSIGN_OR_RETURN(const OpId moved, graph_.InsertOp(mover, op(mover).kind, op(mover).name,
                                                             inputs, attributes, {name}));
    graph_.MutableOp(moved).source_ops = op(mover).source_ops;
    const TensorId made = op(moved).outputs.front();
    BypassAndErase(graph_, id, made);
    graph_.RenameTensor(made, name);
    ++changed_;
    return {};
  }

  void TryCancel(OpId id) {
    const auto target = PlainTargetOf(graph_, op(id));
    if (!target.has_value()) return;
    const auto source = SourceOf(graph_, op(id).inputs.front());
    if (!source.has_value() || source->as != *target) return;
    if (!WhyNotBypass(graph_, op(id).outputs.front(), source->quantized).empty()) return;
    BypassAndErase(graph_, id, source->quantized);
    ++changed_;
  }

  Graph& graph_;
  bool log_;
  PassReport& report_;
  int changed_ = 0;
};

}  // namespace

Result<int> MoveQuantization(Graph& graph, bool log, PassReport& report) {
  return Mover(graph, log, report).Run();
}

}  // namespace tenon::converter
