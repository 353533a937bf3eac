#include "tests/unit/converter/split/chain_testing.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "converter/ir/text.hpp"

namespace tenon::test {

using converter::Attributes;
using converter::Graph;
using converter::kNone;
using converter::Result;
using converter::TensorId;

namespace {

Shape MakeShape(std::initializer_list<int32_t> dims) {
  return {dims.begin(), static_cast<int32_t>(dims.size())};
}

}  // namespace

Graph Hourglass(int32_t batch) {
  Result<Graph> graph = converter::ParseGraph(fmt::format(R"(graph g
input %x: f32[{},1,16,4]
const %w: f32[16,1,3,3] = random(1)
const %v: f32[16,16,3,3] = random(1)
const %u: f32[1,16,1,1] = random(1)
%a = conv(%x, %w) {{pads=[1,1,1,1]}}
%b = conv(%a, %v) {{pads=[1,1,1,1]}}
%c = conv(%b, %u)
output %c
)",
                                                          batch));
  REQUIRE(graph.ok());
  return std::move(*graph);
}

TensorId RandomNetwork::Weights(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.Elements()));
  for (float& value : values) value = static_cast<float>(Pick(-100, 100)) * 0.01F;
  return graph_.AddConstantOf("w", DType::kF32, shape, values);
}

Result<TensorId> RandomNetwork::Conv(TensorId x) {
  const Shape in = graph_.tensor(x).shape;
  ConvAttributes attributes;
  const int32_t kernel = Pick(1, 4);
  const bool depthwise = Pick(0, 2) == 0;
  attributes.strides[0] = attributes.strides[1] = Pick(1, 2);
  attributes.dilations[0] = Pick(1, 2);
  for (int32_t& pad : attributes.pads) pad = Pick(0, kernel - 1);
  if (depthwise) attributes.group = in[1];
  const int32_t channels = depthwise ? in[1] : Pick(1, 5);
  const TensorId w = Weights(MakeShape({channels, depthwise ? 1 : in[1], kernel, Pick(1, 3)}));
  return graph_.AddOpTensor(OpKind::kConv, "conv", {x, w, Weights(MakeShape({channels}))},
                            Attributes(attributes));
}

Result<TensorId> RandomNetwork::Pool(TensorId x) {
  PoolAttributes attributes;
  attributes.kernel[0] = Pick(1, 3);
  attributes.kernel[1] = 2;
  attributes.strides[0] = Pick(1, 3);
  attributes.ceil_mode = Pick(0, 1);
  attributes.pads[0] = Pick(0, attributes.kernel[0] - 1);
  attributes.pads[2] = Pick(0, attributes.kernel[0] - 1);
  const OpKind kind = Pick(0, 1) == 0 ? OpKind::kMaxPool : OpKind::kAveragePool;
  return graph_.AddOpTensor(kind, "pool", {x}, Attributes(attributes));
}

std::vector<TensorId> RandomNetwork::Alike(TensorId x, bool channels) const {
  const Shape& shape = graph_.tensor(x).shape;
  std::vector<TensorId> alike;
  for (const TensorId id : images_) {
    const Shape& other = graph_.tensor(id).shape;
    if (other[2] == shape[2] && other[3] == shape[3] && (!channels || other[1] == shape[1])) {
      alike.push_back(id);
    }
  }
  return alike;
}

Result<TensorId> RandomNetwork::Residual(TensorId x) {
  const std::vector<TensorId> alike = Alike(x, true);
  const TensorId y = alike[static_cast<size_t>(Pick(0, static_cast<int32_t>(alike.size()) - 1))];
  return graph_.AddOpTensor(OpKind::kBinary, "add", {x, y}, Attributes(BinaryAttributes{}));
}

Result<TensorId> RandomNetwork::Concat(TensorId x) {
  const std::vector<TensorId> alike = Alike(x, false);
  const TensorId y = alike[static_cast<size_t>(Pick(0, static_cast<int32_t>(alike.size()) - 1))];
  return graph_.AddOpTensor(OpKind::kConcat, "concat", {x, y}, Attributes(ConcatAttributes{1}));
}

Result<TensorId> RandomNetwork::Shuffle(TensorId x) {
  const Shape in = graph_.tensor(x).shape;
  constexpr int32_t kFactor = 2;
  if (in[1] % (kFactor * kFactor) != 0) return converter::InputError("too few channels");
  const int32_t channels = in[1] / (kFactor * kFactor);
  ReshapeAttributes apart{6, {in[0], channels, kFactor, kFactor, in[2], in[3]}};
  TransposeAttributes turn{6, {0, 1, 4, 2, 5, 3}};
  ReshapeAttributes joined{4, {in[0], channels, in[2] * kFactor, in[3] * kFactor}};
  TENON_ASSIGN_OR_RETURN(const TensorId a,
                         graph_.AddOpTensor(OpKind::kReshape, "apart", {x}, Attributes(apart)));
  TENON_ASSIGN_OR_RETURN(const TensorId b,
                         graph_.AddOpTensor(OpKind::kTranspose, "turn", {a}, Attributes(turn)));
  return graph_.AddOpTensor(OpKind::kReshape, "joined", {b}, Attributes(joined));
}

Result<TensorId> RandomNetwork::Resize(TensorId x) {
  const Shape in = graph_.tensor(x).shape;
  ResizeAttributes attributes;
  attributes.rank = 4;
  for (int32_t i = 0; i < 4; ++i) {
    attributes.sizes[i] = in[i] * (i >= 2 ? 2 : 1);
    attributes.scales[i] = i >= 2 ? 2.0F : 1.0F;
  }
  attributes.coordinates = CoordinateMode::kAsymmetric;
  attributes.nearest = NearestMode::kFloor;
  return graph_.AddOpTensor(OpKind::kResize, "resize", {x}, Attributes(attributes));
}

bool RandomNetwork::AddRandomOp() {
  const TensorId x = PickImage();
  Result<TensorId> made = converter::InputError("nothing made");
  switch (Pick(0, 8)) {
    case 0:
    case 1:
    case 2:
      made = Conv(x);
      break;
    case 3:
      made = Pool(x);
      break;
    case 4:
      made = Residual(x);
      break;
    case 5:
      made = Concat(x);
      break;
    case 6:
      made = Shuffle(x);
      break;
    case 7:
      if (graph_.tensor(x).shape[2] <= 20) made = Resize(x);
      break;
    default:
      made = graph_.AddOpTensor(OpKind::kUnary, "unary", {x},
                                Attributes(UnaryAttributes{UnaryFunction::kSigmoid}));
  }
  if (!made.ok()) return false;
  const Shape& shape = graph_.tensor(*made).shape;
  if (shape.Elements() > 0 && shape[2] > 1) images_.push_back(*made);
  return true;
}

Graph RandomNetwork::Make(int ops, int32_t batch) {
  const TensorId x =
      graph_.AddTensor("x", DType::kF32, MakeShape({batch, Pick(1, 4), Pick(8, 24), 7}));
  graph_.AddInput(x, "x");
  images_.push_back(x);
  for (int tries = 0; tries < 4 * ops && static_cast<int>(graph_.OpOrder().size()) < ops; ++tries) {
    (void)AddRandomOp();
  }
  // What nobody reads is an output, and now and then something that is read.
  for (const TensorId id : graph_.Tensors()) {
    const bool made = graph_.tensor(id).producer != kNone;
    if (made && (!graph_.IsRead(id) || Pick(0, 9) == 0)) {
      graph_.AddOutput(id, graph_.tensor(id).name);
    }
  }
  REQUIRE(converter::Verify(graph_).ok());
  return std::move(graph_);
}

}  // namespace tenon::test
