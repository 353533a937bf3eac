#include <algorithm>
#include <unordered_set>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kImageRank = 4;
constexpr int32_t kRowsRank = kImageRank - 1;

/// Returns the axis of size 1 without which the image has the shape of rows, or -1. Of several, the
/// height of [N, C, H, W].
int32_t AxisBetween(const Shape& image, const Shape& rows) {
  if (image.rank != kImageRank || rows.rank != kRowsRank) return -1;
  for (const int32_t axis : {2, 1}) {
    bool equal = image[axis] == 1;
    for (int32_t i = 0; i < kRowsRank; ++i) equal = equal && rows[i] == image[i + (i >= axis)];
    if (equal) return axis;
  }
  return -1;
}

/// Returns the shape, of which ranks below that of rows are aligned at the end, with the axis.
Shape WithAxis(const Shape& shape, int32_t axis) {
  const int32_t at = axis - (kRowsRank - shape.rank);
  if (at <= 0) return shape;
  Shape result = shape;
  result.rank = shape.rank + 1;
  for (int32_t i = shape.rank; i > at; --i) result[i] = shape[i - 1];
  result[at] = 1;
  return result;
}

void InsertAt(int32_t* values, int32_t rank, int32_t axis, int32_t value) {
  std::copy_backward(values + axis, values + rank, values + rank + 1);
  values[axis] = value;
}

bool HasOneScale(const Graph& graph, const Op& op) {
  return graph.tensor(op.inputs[QuantizeInput::kScale]).shape.Elements() == 1;
}

/// Gives the attributes that the op has on images. Returns false for ops that have none.
bool LiftAttributes(const Graph& graph, const Op& op, int32_t axis, Attributes& attributes) {
  attributes = op.attributes;
  switch (op.kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kSelect:
    case OpKind::kCast:
      return true;
    case OpKind::kQuantize:
    case OpKind::kDequantize:
      return HasOneScale(graph, op);
    case OpKind::kConcat: {
      auto concat = op.attributes.As<ConcatAttributes>();
      concat.axis += concat.axis >= axis;
      attributes = Attributes(concat);
      return true;
    }
    case OpKind::kSlice: {
      auto slice = op.attributes.As<SliceAttributes>();
      InsertAt(slice.begins, slice.rank, axis, 0);
      InsertAt(slice.sizes, slice.rank, axis, 1);
      InsertAt(slice.steps, slice.rank++, axis, 1);
      attributes = Attributes(slice);
      return true;
    }
    case OpKind::kPad: {
      auto pad = op.attributes.As<PadAttributes>();
      InsertAt(pad.begins, pad.rank, axis, 0);
      InsertAt(pad.ends, pad.rank++, axis, 0);
      attributes = Attributes(pad);
      return true;
    }
    case OpKind::kReduce: {
      auto reduce = op.attributes.As<ReduceAttributes>();
      const int32_t below = reduce.axes_mask & ((1 << axis) - 1);
      reduce.axes_mask = below | (reduce.axes_mask - below) << 1;
      attributes = Attributes(reduce);
      return reduce.keep_dims == 1;
    }
    default:
      return false;
  }
}

/// Walks over the ops in their order and remembers which tensors of four dimensions come from
/// windowed ops.
class Lifter {
 public:
  explicit Lifter(Graph& graph) : graph_(graph) {}

  /// Lifts the op if it can be. Returns whether it was done.
  Result<bool> Visit(OpId id) {
    const Op& op = graph_.op(id);
    const OpTraits& traits = TraitsOf(op.kind);
    if (op.outputs.size() != 1 || op.inputs.empty()) return false;
    const TensorId y = op.outputs[0];
    const int32_t rank = graph_.tensor(y).shape.rank;
    if (rank == kImageRank) {
      const bool from_image = op.inputs[0] != kNone && images_.count(op.inputs[0]) > 0;
      if (traits.convolution || traits.pool || (from_image && op.kind != OpKind::kReshape)) {
        images_.insert(y);
      }
      return false;
    }
    if (rank != kRowsRank) return false;
    int32_t axis = AxisOfInputs(op);
    if (axis < 0 && op.kind == OpKind::kPad) axis = AxisOfReaders(y);
    Attributes attributes;
    if (axis < 0 || !LiftAttributes(graph_, op, axis, attributes)) return false;
    return Lift(id, axis, attributes);
  }

 private:
  /// The image of which the tensor is the rows, or kNone.
  [[nodiscard]] TensorId ImageOf(TensorId rows) const {
    const OpId reshape = rows == kNone ? kNone : ProducerOfKind(graph_, rows, OpKind::kReshape);
    if (reshape == kNone) return kNone;
    const TensorId image = graph_.op(reshape).inputs[0];
    return images_.count(image) > 0 ? image : kNone;
  }

  [[nodiscard]] int32_t AxisOfInputs(const Op& op) const {
    for (const TensorId input : op.inputs) {
      const TensorId image = ImageOf(input);
      if (image == kNone) continue;
      const int32_t axis = AxisBetween(graph_.tensor(image).shape, graph_.tensor(input).shape);
      if (axis >= 0) return axis;
    }
    return -1;
  }

  /// The axis that every reader of the rows puts in, for a windowed op to read.
  [[nodiscard]] int32_t AxisOfReaders(TensorId rows) const {
    if (graph_.IsOutput(rows)) return -1;
    int32_t common = -1;
    for (const OpId reader : graph_.Consumers(rows)) {
      if (graph_.op(reader).kind != OpKind::kReshape) return -1;
      const TensorId image = graph_.op(reader).outputs[0];
      const OpId windowed = graph_.OnlyConsumer(image);
      if (windowed == kNone) return -1;
      const OpTraits& traits = TraitsOf(graph_.op(windowed).kind);
      const int32_t axis = AxisBetween(graph_.tensor(image).shape, graph_.tensor(rows).shape);
      const bool agrees = common < 0 || axis == common;
      if (axis < 0 || !agrees || !(traits.convolution || traits.pool)) return -1;
      common = axis;
    }
    return common;
  }

  /// What the op reads on images in place of `input`.
  Result<TensorId> Lifted(OpId position, TensorId input, int32_t axis) {
    if (input == kNone) return input;
    const Tensor& tensor = graph_.tensor(input);
    const Shape shape = WithAxis(tensor.shape, axis);
    if (shape == tensor.shape) return input;
    const TensorId image = ImageOf(input);
    if (image != kNone && graph_.tensor(image).shape == shape) return image;
    const std::string name = tensor.name + ".image";
    if (tensor.IsConstant()) {
      return graph_.AddConstant(name, tensor.dtype, shape, tensor.constant);
    }
    TENON_ASSIGN_OR_RETURN(const OpId reshape,
                           graph_.InsertOp(position, OpKind::kReshape, name, {input},
                                           Attributes(ReshapeTo(shape)), {name}));
    return graph_.op(reshape).outputs[0];
  }

  Result<bool> Lift(OpId id, int32_t axis, const Attributes& attributes) {
    const OpKind kind = graph_.op(id).kind;
    const std::string name = graph_.op(id).name;
    const TensorId y = graph_.op(id).outputs[0];
    const bool by_parameters = kind == OpKind::kQuantize || kind == OpKind::kDequantize;
    std::vector<TensorId> inputs = graph_.op(id).inputs;
    const std::vector<TensorId> before = inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (by_parameters && i != QuantizeInput::kX) continue;
      TENON_ASSIGN_OR_RETURN(inputs[i], Lifted(id, inputs[i], axis));
    }
    const std::string image_name = graph_.tensor(y).name + ".image";
    TENON_ASSIGN_OR_RETURN(const OpId lifted,
                           graph_.InsertOp(id, kind, name, inputs, attributes, {image_name}));
    RecordFusion(graph_, lifted, id);
    const TensorId image = graph_.op(lifted).outputs[0];
    images_.insert(image);
    Op& rows = graph_.MutableOp(id);
    rows.kind = OpKind::kReshape;
    rows.name = name + ".rows";
    rows.attributes = Attributes(ReshapeTo(graph_.tensor(y).shape));
    rows.inputs = {image};
    for (const TensorId input : before) {
      if (input == kNone || !graph_.IsTensor(input)) continue;
      const OpId reshape = ProducerOfKind(graph_, input, OpKind::kReshape);
      if (reshape != kNone)
        EraseIfUnread(graph_, reshape);
      else if (graph_.tensor(input).IsConstant() && !graph_.IsRead(input))
        graph_.EraseTensor(input);
    }
    return true;
  }

  Graph& graph_;
  std::unordered_set<TensorId> images_;
};

}  // namespace

Status LiftRows(Graph& graph, PassContext& context) {
  Lifter lifter(graph);
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    TENON_ASSIGN_OR_RETURN(const bool lifted, lifter.Visit(id));
    if (lifted) ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
