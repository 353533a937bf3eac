#include <algorithm>
#include <string>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/image_layouts.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Dimensions of an image cut into patches, by what they are.
struct Cut {
  std::vector<int32_t> dims;
  /// To the rows and columns of patches, then what a patch holds in the order of the image.
  std::vector<int32_t> order;
};

/// Returns true where each element of the image is in one window, of several elements, and no
/// window has padding.
bool HasPatches(const Graph& graph, const Op& conv) {
  const auto attributes = conv.attributes.As<ConvAttributes>();
  const Shape& x = graph.tensor(conv.inputs[ConvInput::kX]).shape;
  const Shape& weights = graph.tensor(conv.inputs[ConvInput::kWeights]).shape;
  if (attributes.group != 1 || x.Elements() == 0 || weights[2] * weights[3] == 1) return false;
  for (int32_t i = 0; i < 2; ++i) {
    const int32_t taps = weights[2 + i];
    const bool is_cut = (taps == attributes.strides[i] || taps == x[2 + i]) &&
                        x[2 + i] % taps == 0 && attributes.dilations[i] == 1 &&
                        attributes.pads[i] == 0 && attributes.pads[2 + i] == 0;
    if (!is_cut) return false;
  }
  return true;
}

bool HasConstants(const Graph& graph, const Op& conv) {
  for (const int input : {ConvInput::kBias, ConvInput::kXMean}) {
    const TensorId id = conv.InputOrNone(static_cast<size_t>(input));
    if (id != kNone && !IsConstantF32(graph, id)) return false;
  }
  return IsConstantF32(graph, conv.inputs[ConvInput::kWeights]) &&
         conv.InputOrNone(ConvInput::kResidual) == kNone &&
         conv.InputOrNone(ConvInput::kWeightsScale) == kNone;
}

/// Writes the product in front of the convolution.
class ProductWriter {
 public:
  ProductWriter(Graph& graph, OpId conv)
      : graph_(graph),
        conv_(conv),
        name_(graph.op(conv).name),
        image_(graph.op(conv).inputs[ConvInput::kX]) {
    const OpId turned = ProducerOfKind(graph, image_, OpKind::kTranspose);
    if (turned == kNone) return;
    const auto moves = graph.op(turned).attributes.As<TransposeAttributes>();
    is_last_ = std::equal(kToChannelsFirst, kToChannelsFirst + 4, moves.permutation);
    if (is_last_) image_ = graph.op(turned).inputs[0];
  }

  /// The result as the convolution has it.
  Result<TensorId> Run() {
    const Shape y = graph_.tensor(graph_.op(conv_).outputs[0]).shape;
    TENON_ASSIGN_OR_RETURN(const TensorId patches, Patches(Shape({y[0], y[2], y[3], Taps()})));
    const Op conv = graph_.op(conv_);
    MatMulAttributes attributes;
    attributes.transpose_b = 1;
    attributes.activation = conv.attributes.As<ConvAttributes>().activation;
    std::vector<TensorId> inputs = {patches, Weights()};
    const TensorId bias = Bias();
    if (bias != kNone) inputs.push_back(bias);
    TENON_ASSIGN_OR_RETURN(const TensorId product,
                           Add(OpKind::kMatMul, ".product", inputs, Attributes(attributes)));
    product_ = graph_.tensor(product).producer;
    return Add(OpKind::kTranspose, ".image", {product}, Attributes(TransposeBy(kToChannelsFirst)));
  }

  [[nodiscard]] OpId product() const { return product_; }

 private:
  [[nodiscard]] const Shape& WeightsShape() const {
    return graph_.tensor(graph_.op(conv_).inputs[ConvInput::kWeights]).shape;
  }
  [[nodiscard]] int32_t Taps() const {
    const Shape& shape = WeightsShape();
    return shape[1] * shape[2] * shape[3];
  }

  [[nodiscard]] Cut CutImage() const {
    const Shape& x = graph_.tensor(graph_.op(conv_).inputs[ConvInput::kX]).shape;
    const int32_t rows = WeightsShape()[2];
    const int32_t columns = WeightsShape()[3];
    if (is_last_) {
      return {{x[0], x[2] / rows, rows, x[3] / columns, columns, x[1]}, {0, 1, 3, 2, 4, 5}};
    }
    return {{x[0], x[1], x[2] / rows, rows, x[3] / columns, columns}, {0, 2, 4, 1, 3, 5}};
  }

  /// Each patch a row of f32. Bytes are moved before they become floats.
  Result<TensorId> Patches(const Shape& shape) {
    const Cut cut = CutImage();
    ReshapeAttributes parts;
    TransposeAttributes order;
    parts.rank = order.rank = static_cast<int32_t>(cut.dims.size());
    std::copy(cut.dims.begin(), cut.dims.end(), parts.dims);
    std::copy(cut.order.begin(), cut.order.end(), order.permutation);
    TENON_ASSIGN_OR_RETURN(TensorId x, Add(OpKind::kReshape, ".cut", {image_}, Attributes(parts)));
    TENON_ASSIGN_OR_RETURN(x, Add(OpKind::kTranspose, ".moved", {x}, Attributes(order)));
    TENON_ASSIGN_OR_RETURN(x, Add(OpKind::kReshape, ".patches", {x}, Attributes(ReshapeTo(shape))));
    if (graph_.tensor(x).dtype == DType::kF32) return x;
    return Add(OpKind::kCast, ".floats", {x}, Attributes(CastAttributes()));  // to f32
  }

  /// [M, K], what a patch holds in the image's order.
  TensorId Weights() {
    const Tensor weights = graph_.tensor(graph_.op(conv_).inputs[ConvInput::kWeights]);
    const Shape shape({weights.shape[0], Taps()});
    const std::string name = weights.name + ".patches";
    if (!is_last_) return graph_.AddConstant(name, DType::kF32, shape, *weights.constant);
    const std::vector<double> values = ReadElements(weights);
    const auto channels = static_cast<size_t>(weights.shape[1]);
    const auto window = static_cast<size_t>(weights.shape[2] * weights.shape[3]);
    std::vector<double> moved;
    moved.reserve(values.size());
    for (size_t output = 0; output < values.size(); output += channels * window) {
      for (size_t tap = 0; tap < window; ++tap) {
        for (size_t c = 0; c < channels; ++c) moved.push_back(values[output + c * window + tap]);
      }
    }
    return graph_.AddConstant(name, DType::kF32, shape, WriteElements(DType::kF32, moved));
  }

  /// What the outputs have in any case: the bias, less what the mean of the image would add.
  TensorId Bias() {
    const Op& conv = graph_.op(conv_);
    const TensorId bias = conv.InputOrNone(ConvInput::kBias);
    const TensorId mean = conv.InputOrNone(ConvInput::kXMean);
    if (mean == kNone) return bias;
    const Tensor& weights = graph_.tensor(conv.inputs[ConvInput::kWeights]);
    const std::vector<double> values = ReadElements(weights);
    const std::vector<double> means = ReadElements(graph_.tensor(mean));
    const auto outputs = static_cast<size_t>(weights.shape[0]);
    std::vector<double> result(outputs, 0.0);
    if (bias != kNone) result = ReadElements(graph_.tensor(bias));
    const size_t window = values.size() / outputs / means.size();
    for (size_t i = 0; i < values.size(); ++i) {
      result[i / (window * means.size())] -= values[i] * means[i / window % means.size()];
    }
    return graph_.AddConstant(name_ + ".bias", DType::kF32, Shape({weights.shape[0]}),
                              WriteElements(DType::kF32, result));
  }

  Result<TensorId> Add(OpKind kind, const char* suffix, const std::vector<TensorId>& inputs,
                       const Attributes& attributes) {
    const std::string name = name_ + suffix;
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(conv_, kind, name, inputs, attributes, {name}));
    return graph_.op(op).outputs[0];
  }

  Graph& graph_;
  OpId conv_;
  std::string name_;
  TensorId image_;
  bool is_last_ = false;  ///< the image is [N, H, W, C]
  OpId product_ = kNone;
};

/// Returns whether the convolution was replaced.
Result<bool> TryReplace(Graph& graph, OpId id, PassContext& context) {
  ProductWriter writer(graph, id);
  TENON_ASSIGN_OR_RETURN(const TensorId image, writer.Run());
  const OpId last = graph.tensor(image).producer;
  if (!context.has_fast_kernel(graph, graph.op(writer.product()))) {
    EraseIfUnread(graph, last);
    Decline(graph, id, "no fast kernel computes the product of its patches", context.report);
    return false;
  }
  RecordFusion(graph, writer.product(), id);
  AbsorbResult(graph, last, id);
  return true;
}

}  // namespace

Status PatchesToProducts(Graph& graph, PassContext& context) {
  if (!context.has_fast_kernel) return {};
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kConv) continue;
    if (!HasConstants(graph, graph.op(id)) || !HasPatches(graph, graph.op(id))) continue;
    if (context.has_fast_kernel(graph, graph.op(id))) continue;
    TENON_ASSIGN_OR_RETURN(const bool replaced, TryReplace(graph, id, context));
    context.report.changed += replaced ? 1 : 0;
  }
  return {};
}

}  // namespace tenon::converter
