#include <algorithm>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/image_moves.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool IsFromChannelsLast(const TransposeAttributes& transpose) {
  constexpr int32_t kBack[] = {0, 3, 1, 2};
  return transpose.rank == 4 &&
         std::equal(std::begin(kBack), std::end(kBack), std::begin(transpose.permutation));
}

/// Foresees which images will lie channels last (converter/layout/assign_layouts.cpp): what
/// convolutions and pools make, and what is computed from such element by element.
class ChannelsLast {
 public:
  ChannelsLast(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {
    for (const OpId id : graph.OpOrder()) {
      if (IsOne(graph.op(id))) Add(graph.op(id).outputs.front());
    }
  }

  [[nodiscard]] bool Has(TensorId id) const {
    return id != kNone && static_cast<size_t>(id) < known_.size() &&
           known_[static_cast<size_t>(id)];
  }

 private:
  [[nodiscard]] bool IsOne(const Op& op) const {
    if (op.outputs.empty() || graph_.tensor(op.outputs.front()).shape.rank != 4) return false;
    const OpTraits& traits = TraitsOf(op.kind);
    if (traits.convolution || traits.pool) return IsFast(op);
    switch (op.kind) {
      case OpKind::kTranspose:
        return IsFromChannelsLast(op.attributes.As<TransposeAttributes>());
      case OpKind::kReshape:
        return EndsMove(op);
      case OpKind::kGridSample:
        return Has(op.inputs[GridSampleInput::kX]);
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kQuantizedBinary:
      case OpKind::kLookup:
      case OpKind::kQuantize:
      case OpKind::kDequantize:
      case OpKind::kConcat:
      case OpKind::kSlice:
      case OpKind::kPad:
      case OpKind::kResize:
        return std::any_of(op.inputs.begin(), op.inputs.end(),
                           [this](TensorId input) { return Has(input); });
      default:
        return false;
    }
  }

  /// Portable kernels of floats take what needs the least memory.
  [[nodiscard]] bool IsFast(const Op& op) const {
    if (graph_.tensor(op.outputs.front()).dtype != DType::kF32) return true;
    return context_.has_fast_kernel && context_.has_fast_kernel(graph_, op);
  }

  /// What is found here will be moved, and then lie channels last.
  [[nodiscard]] bool EndsMove(const Op& op) const {
    const auto move = FindImageMove(graph_, graph_.tensor(op.outputs.front()).producer);
    return move.has_value() && Has(move->x);
  }

  void Add(TensorId id) {
    const auto k = static_cast<size_t>(id);
    if (known_.size() <= k) known_.resize(k + 1);
    known_[k] = true;
  }

  const Graph& graph_;
  const PassContext& context_;
  std::vector<bool> known_;
};

/// Puts ops in front of the last one of a move, each on the result of the one before.
class ChannelsLastWriter {
 public:
  ChannelsLastWriter(Graph& graph, const ImageMove& move)
      : graph_(graph), position_(move.last), value_(move.x) {}

  Status Transpose(const std::vector<int32_t>& permutation) {
    if (std::is_sorted(permutation.begin(), permutation.end())) return {};
    TransposeAttributes attributes;
    attributes.rank = static_cast<int32_t>(permutation.size());
    std::copy(permutation.begin(), permutation.end(), attributes.permutation);
    return Add(OpKind::kTranspose, Attributes(attributes));
  }
  Status Reshape(const Shape& shape) { return Add(OpKind::kReshape, Attributes(ReshapeTo(shape))); }
  [[nodiscard]] TensorId value() const { return value_; }

 private:
  Status Add(OpKind kind, const Attributes& attributes) {
    const std::string name = fmt::format("{}.moved{}", graph_.op(position_).name, ++count_);
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(position_, kind, name, {value_}, attributes, {name}));
    value_ = graph_.op(op).outputs[0];
    return {};
  }

  Graph& graph_;
  OpId position_;
  TensorId value_;
  int count_ = 0;
};

Shape Reordered(const Shape& shape, const std::vector<int32_t>& order) {
  Shape result;
  result.rank = static_cast<int32_t>(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<int32_t>(i)] = shape[order[i]];
  return result;
}

Status Rewrite(Graph& graph, const ImageMove& move) {
  const Shape y = graph.tensor(graph.op(move.last).outputs[0]).shape;
  const std::vector<int32_t> before = move.PartsOfInput(kChannelsLastAxes);
  const std::vector<int32_t> after = move.PartsOfOutput(kChannelsLastAxes);
  std::vector<int32_t> permutation;
  for (const int32_t part : after) {
    permutation.push_back(
        static_cast<int32_t>(std::find(before.begin(), before.end(), part) - before.begin()));
  }
  ChannelsLastWriter writer(graph, move);
  TENON_RETURN_IF_ERROR(writer.Transpose(kChannelsLastAxes));
  TENON_RETURN_IF_ERROR(writer.Reshape(Reordered(move.parts, before)));
  TENON_RETURN_IF_ERROR(writer.Transpose(permutation));
  TENON_RETURN_IF_ERROR(writer.Reshape(Reordered(y, kChannelsLastAxes)));
  TENON_RETURN_IF_ERROR(writer.Transpose({0, 3, 1, 2}));
  AbsorbResult(graph, graph.tensor(writer.value()).producer, move.last);
  return {};
}

}  // namespace

Status MoveChannelsLast(Graph& graph, PassContext& context) {
  const ChannelsLast channels_last(graph, context);
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kReshape) continue;
    if (graph.tensor(graph.op(id).outputs.front()).shape.rank != 4) continue;
    const auto move = FindImageMove(graph, id);
    if (!move.has_value() || !channels_last.Has(move->x)) continue;
    const Tensor& x = graph.tensor(move->x);
    const bool shuffles = x.shape == graph.tensor(graph.op(id).outputs.front()).shape;
    if (x.dtype != DType::kF32 && !shuffles) continue;
    TENON_RETURN_IF_ERROR(Rewrite(graph, *move));
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
