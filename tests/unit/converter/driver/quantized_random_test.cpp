// Random quantized networks, as their float ops compute them and as quantized ops do.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "converter/ir/elements.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

using converter::Attributes;
using converter::Graph;
using converter::kNone;
using converter::TensorId;

class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed) {}

  Graph Make() {
    Shape shape;
    shape.rank = 4;
    shape[0] = 1;
    shape[1] = Between(2, 6);
    shape[2] = shape[3] = Between(4, 9);
    const TensorId input = graph_.AddTensor("input", DType::kF32, shape);
    graph_.AddInput(input, "input");
    TensorId x = Dequantized(input);
    for (int layer = 0; layer < 4; ++layer) x = Layer(x);
    graph_.AddOutput(last_quantized_, "output");
    return std::move(graph_);
  }

 private:
  int Between(int least, int most) {
    return least + static_cast<int>(random_.Next() % static_cast<uint64_t>(most - least + 1));
  }
  float Real(float least, float most) {
    return least + (most - least) * static_cast<float>(random_.Next() >> 40) / 16777216.0F;
  }

  TensorId Add(OpKind kind, const std::vector<TensorId>& inputs, const Attributes& attributes) {
    const auto made = graph_.AddOpTensor(kind, "op", inputs, attributes);
    if (!made.ok()) FAIL(made.error().message);
    return *made;
  }

  template <typename T>
  TensorId Vector(DType dtype, const std::vector<T>& values) {
    Shape shape;
    shape.rank = 1;
    shape[0] = static_cast<int32_t>(values.size());
    return graph_.AddConstantOf("c", dtype, shape, values);
  }

  /// Through bytes and back, at a random scale and zero point.
  TensorId Dequantized(TensorId real) {
    const bool is_signed = Between(0, 1) == 0;
    const DType dtype = is_signed ? DType::kI8 : DType::kU8;
    const int zero_point = Between(-30, 30) + (is_signed ? 0 : 128);
    const TensorId scale = Vector<float>(DType::kF32, {Real(0.015F, 0.05F)});
    const TensorId zero = is_signed ? Vector<int8_t>(dtype, {static_cast<int8_t>(zero_point)})
                                    : Vector<uint8_t>(dtype, {static_cast<uint8_t>(zero_point)});
    QuantizeAttributes attributes;
    attributes.to = static_cast<int32_t>(dtype);
    last_quantized_ = Add(OpKind::kQuantize, {real, scale, zero}, Attributes(attributes));
    return Add(OpKind::kDequantize, {last_quantized_, scale, zero},
               Attributes(DequantizeAttributes()));
  }

  /// Weights of `fan_in` products for each of the `channels` along axis 0, dequantized.
  TensorId Weights(const Shape& shape) {
    const auto channels = static_cast<size_t>(shape[0]);
    const auto fan_in = static_cast<float>(shape.Elements() / shape[0]);
    std::vector<float> scales;
    for (size_t i = 0; i < channels; ++i) {
      scales.push_back(Real(0.5F, 2.0F) / (127.0F * std::sqrt(fan_in)));
    }
    std::vector<int8_t> values(static_cast<size_t>(shape.Elements()));
    for (int8_t& value : values) value = static_cast<int8_t>(Between(-127, 127));
    const TensorId w = graph_.AddConstantOf("w", DType::kI8, shape, values);
    return Add(OpKind::kDequantize, {w, Vector(DType::kF32, scales)},
               Attributes(DequantizeAttributes()));
  }

  TensorId Conv(TensorId x) {
    const Shape& in = shape_of(x);
    ConvAttributes conv;
    Shape shape;
    shape.rank = 4;
    const bool depthwise = Between(0, 2) == 0;
    conv.group = depthwise ? in[1] : 1;
    shape[0] = depthwise ? in[1] : Between(2, 9);
    shape[1] = depthwise ? 1 : in[1];
    shape[2] = shape[3] = Between(0, 1) == 0 ? 1 : 3;
    if (shape[2] == 3) std::fill_n(conv.pads, 4, 1);
    std::vector<float> bias;
    for (int i = 0; i < shape[0]; ++i) bias.push_back(Real(-1, 1));
    return Add(OpKind::kConv, {x, Weights(shape), Vector(DType::kF32, bias)}, Attributes(conv));
  }

  TensorId MatMul(TensorId x) {
    const Shape in = shape_of(x);
    ReshapeAttributes flat;
    flat.rank = 2;
    flat.dims[0] = 1;
    flat.dims[1] = static_cast<int32_t>(in.Elements());
    Shape shape;
    shape.rank = 2;
    shape[0] = 16;
    shape[1] = flat.dims[1];
    const TensorId row = Add(OpKind::kReshape, {x}, Attributes(flat));
    const TensorId y =
        Add(OpKind::kMatMul, {row, Weights(shape)}, Attributes(MatMulAttributes{0, 1, {}}));
    ReshapeAttributes image;
    image.rank = 4;
    const int32_t dims[] = {1, 4, 2, 2};
    std::copy_n(dims, 4, image.dims);
    return Add(OpKind::kReshape, {Dequantized(y)}, Attributes(image));
  }

  TensorId Unary(TensorId x) {
    constexpr UnaryAttributes kFunctions[] = {{UnaryFunction::kSigmoid, 0, 0},
                                              {UnaryFunction::kHardSwish, 0, 0},
                                              {UnaryFunction::kLeakyRelu, 0.1F, 0},
                                              {UnaryFunction::kClip, -1.0F, 2.0F},
                                              {UnaryFunction::kRelu, 0, 0}};
    return Add(OpKind::kUnary, {x}, Attributes(kFunctions[Between(0, 4)]));
  }

  TensorId Layer(TensorId x) {
    const Shape in = shape_of(x);
    switch (Between(0, 7)) {
      case 0:
      case 1: {
        const TensorId y = Conv(x);
        return Dequantized(Between(0, 1) == 0 ? y : Unary(y));
      }
      case 2:
        return Dequantized(Unary(x));
      case 3: {
        constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                                 BinaryFunction::kMul, BinaryFunction::kMax};
        const TensorId y = Dequantized(Unary(x));
        BinaryAttributes binary;
        binary.function = kFunctions[Between(0, 3)];
        return Dequantized(Add(OpKind::kBinary, {x, y}, Attributes(binary)));
      }
      case 4: {
        PoolAttributes pool;
        pool.kernel[0] = pool.kernel[1] = 2;
        const bool fits = in[2] >= 2 && in[3] >= 2;
        if (!fits) return Dequantized(Unary(x));
        return Dequantized(Add(Between(0, 1) == 0 ? OpKind::kMaxPool : OpKind::kAveragePool, {x},
                               Attributes(pool)));
      }
      case 5:
        return Dequantized(
            Add(OpKind::kConcat, {x, Dequantized(Unary(x))}, Attributes(ConcatAttributes{1})));
      case 6:
        return Dequantized(Add(OpKind::kSoftmax, {x}, Attributes(SoftmaxAttributes{1, 0})));
      default:
        return MatMul(x);
    }
  }

  const Shape& shape_of(TensorId id) { return graph_.tensor(id).shape; }

  converter::SplitMix64 random_;
  Graph graph_;
  TensorId last_quantized_ = kNone;
};

struct Steps {
  size_t elements = 0;
  size_t differing = 0;
  size_t beyond_one = 0;
};

void Compare(const std::vector<std::byte>& a, const std::vector<std::byte>& b, bool is_signed,
             Steps& steps) {
  REQUIRE(a.size() == b.size());
  const auto value = [&](std::byte byte) {
    return is_signed ? int{static_cast<int8_t>(byte)} : int{static_cast<uint8_t>(byte)};
  };
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference = std::abs(value(a[i]) - value(b[i]));
    ++steps.elements;
    if (difference > 0) ++steps.differing;
    if (difference > 1) ++steps.beyond_one;
  }
}

std::vector<std::byte> Run(const Graph& graph, bool fuse, uint64_t seed) {
  converter::ConvertOptions options = OptionsFor();
  options.fuse = fuse;
  const auto conversion = converter::ConvertGraph(graph, options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  if (fuse) {
    // What was quantized is no float op any more, but for products that no quantize op follows.
    CAPTURE(conversion->graph_text);
    CHECK(conversion->graph_text.find(" = conv(") == std::string::npos);
    CHECK(conversion->graph_text.find(" = binary(") == std::string::npos);
    CHECK(conversion->graph_text.find(" = softmax(") == std::string::npos);
  }
  const RunResult result = RunPlan(conversion->plan, RandomInputs(graph, seed));
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  return result.outputs[0];
}

TEST_CASE("FuseQuantized: random networks are within a step of their float form") {
  Steps steps;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make();
    const Graph& read = graph;
    const bool is_signed = read.tensor(read.outputs()[0].tensor).dtype == DType::kI8;
    Compare(Run(graph, true, seed), Run(graph, false, seed), is_signed, steps);
  }
  MESSAGE(fmt::format("of {} elements {} differ, {} by more than a step", steps.elements,
                      steps.differing, steps.beyond_one));
  CHECK(static_cast<double>(steps.beyond_one) <= 0.001 * static_cast<double>(steps.elements));
  CHECK(static_cast<double>(steps.differing) <= 0.02 * static_cast<double>(steps.elements));
}

}  // namespace
}  // namespace tenon::test
