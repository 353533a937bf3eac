#include "tests/unit/backends/fpga/codegen/random_segment.hpp"

#include <cmath>
#include <vector>

#include "converter/ir/elements.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::test {
namespace {

using converter::kNone;
using converter::TensorId;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed * 2654435761U + 17) {
    graph_.name = fmt::format("random_segment_{}", seed);
    rounding_ = Chance(50) ? Rounding::kHalfEven : Rounding::kFixedPoint;
  }

  converter::Graph Conv() {
    Output(AddConv(Input(), Chance(25)));
    return std::move(graph_);
  }

  converter::Graph Segment() {
    std::vector<TensorId> made = {Input()};
    const int count = Between(2, 7);
    for (int i = 0; i < count; ++i) {
      const TensorId next = AddAny(made);
      if (next != kNone) made.push_back(next);
    }
    if (Chance(40)) made.push_back(AddHead(made.back()));
    Output(made.back());
    return std::move(graph_);
  }

 private:
  int Below(int count) { return static_cast<int>(random_.Next() % static_cast<uint64_t>(count)); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool Chance(int percent) { return Below(100) < percent; }

  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).shape; }
  DType Byte() { return Chance(70) ? DType::kI8 : DType::kU8; }
  int32_t ZeroPoint(DType dtype) { return Below(256) - (dtype == DType::kI8 ? 128 : 0); }

  int Channels() {
    constexpr int kAwkward[] = {1, 3, 4, 8, 16, 31, 32, 33, 64};
    return Chance(50) ? kAwkward[Below(9)] : Between(1, 70);
  }

  TensorId Input() {
    const Shape shape({1, Channels(), Between(1, 19), Between(1, 19)});
    const TensorId id = graph_.AddTensor("x", Byte(), shape);
    graph_.AddInput(id, "x");
    return id;
  }
  void Output(TensorId id) {
    if (id != kNone) graph_.AddOutput(id, "y");
  }

  TensorId Integers(DType dtype, const Shape& shape, int low, int high) {
    std::vector<double> values(static_cast<size_t>(shape.Elements()));
    for (double& value : values) value = Between(low, high);
    return graph_.AddConstant("c", dtype, shape, converter::WriteElements(dtype, values));
  }

  QuantizedOutput MakeOutput(Rounding rounding) {
    const DType dtype = Byte();
    const int low = dtype == DType::kI8 ? -128 : 0;
    QuantizedOutput output;
    output.to = static_cast<int32_t>(dtype);
    output.rounding = rounding;
    output.zero_point = ZeroPoint(dtype);
    output.min = Chance(40) ? output.zero_point : low;
    output.max = Chance(20) ? Between(output.min, low + 255) : low + 255;
    return output;
  }

  QuantizedScale MakeScale(double factor) {
    factor = std::min(factor * Between(50, 150) * 0.01, 0.99);
    QuantizedScale scale;
    scale.scale = static_cast<float>(factor);
    int exponent = 0;
    scale.multiplier = static_cast<int32_t>(std::ldexp(std::frexp(factor, &exponent), 31));
    scale.shift = exponent;
    return scale;
  }

  /// Bias, factors and zero points of `outputs` sums of `depth` products.
  void AddFactors(Rounding rounding, int outputs, int depth, DType x, bool u8_weights,
                  std::vector<TensorId>& inputs) {
    inputs.push_back(Chance(80) ? Integers(DType::kI32, Shape({outputs}), -9000, 9000) : kNone);
    const int count = Chance(20) ? 1 : outputs;
    std::vector<float> scales;
    std::vector<int32_t> multipliers;
    std::vector<int8_t> shifts;
    for (int i = 0; i < count; ++i) {
      const QuantizedScale scale = MakeScale(0.02 / std::sqrt(depth));
      scales.push_back(scale.scale);
      multipliers.push_back(scale.multiplier);
      shifts.push_back(static_cast<int8_t>(scale.shift));
    }
    const Shape shape({count});
    if (rounding == Rounding::kHalfEven) {
      inputs.push_back(graph_.AddConstantOf("m", DType::kF32, shape, scales));
      inputs.push_back(kNone);
    } else {
      inputs.push_back(graph_.AddConstantOf("m", DType::kI32, shape, multipliers));
      inputs.push_back(graph_.AddConstantOf("s", DType::kI8, shape, shifts));
    }
    const int low = ZeroPoint(x);
    inputs.push_back(Chance(80) ? Integers(x, Shape({1}), low, low) : kNone);
    if (u8_weights) inputs.push_back(Integers(DType::kU8, Shape({1}), 128, 128));
  }

  TensorId Add(OpKind kind, const std::vector<TensorId>& inputs,
               const converter::Attributes& attributes) {
    const auto op = graph_.AddOp(kind, fmt::format("op{}", count_++), inputs, attributes);
    return op.ok() ? graph_.op(*op).outputs[0] : kNone;
  }

  TensorId AddConv(TensorId x, bool depthwise) {
    const int channels = ShapeOf(x)[1];
    QuantizedConvAttributes attributes;
    const int outputs = depthwise && channels > 1 ? channels : Channels();
    attributes.conv.group = depthwise && channels > 1 ? channels : 1;
    Shape w({outputs, channels / attributes.conv.group, 1, 1});
    for (int i = 0; i < 2; ++i) {
      const int most = std::min(Chance(10) ? 15 : 5, ShapeOf(x)[2 + i] + 4);
      w[2 + i] = Chance(30) ? 1 : Between(1, most);
      attributes.conv.strides[i] = Chance(50) ? 1 : Between(1, 4);
      if (Chance(10)) attributes.conv.dilations[i] = Between(2, 3);
      attributes.conv.pads[i] = Chance(60) ? w[2 + i] / 2 : Below(w[2 + i] + 2);
      attributes.conv.pads[2 + i] = Chance(60) ? w[2 + i] / 2 : Below(w[2 + i] + 2);
    }
    attributes.output = MakeOutput(rounding_);
    const bool u8_weights = Chance(15);
    const DType weights = u8_weights ? DType::kU8 : DType::kI8;
    std::vector<TensorId> inputs = {
        x, Integers(weights, w, u8_weights ? 0 : -128, u8_weights ? 255 : 127)};
    AddFactors(rounding_, outputs, w[1] * w[2] * w[3], graph_.tensor(x).dtype, u8_weights, inputs);
    return Add(OpKind::kQuantizedConv, inputs, converter::Attributes(attributes));
  }

  TensorId AddPool(TensorId x, bool average) {
    PoolAttributes pool;
    for (int i = 0; i < 2; ++i) {
      pool.kernel[i] = std::min(Between(1, 4), ShapeOf(x)[2 + i]);
      pool.strides[i] = Between(1, 3);
      pool.pads[i] = Below(pool.kernel[i]);
      pool.pads[2 + i] = Below(pool.kernel[i]);
    }
    if (!average) return Add(OpKind::kMaxPool, {x}, converter::Attributes(pool));
    QuantizedAveragePoolAttributes attributes;
    attributes.pool = pool;
    attributes.pool.count_include_pad = 1;
    attributes.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
    attributes.scale = MakeScale(0.7);
    attributes.output =
        MakeOutput(rounding_ == Rounding::kHalfEven ? Rounding::kHalfEven : Rounding::kHalfAway);
    return Add(OpKind::kQuantizedAveragePool, {x}, converter::Attributes(attributes));
  }

  TensorId AddSum(TensorId x, TensorId y) {
    if (!(ShapeOf(x) == ShapeOf(y))) return kNone;
    QuantizedBinaryAttributes attributes;
    attributes.function = Chance(80) ? BinaryFunction::kAdd : BinaryFunction::kSub;
    attributes.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
    attributes.y_zero_point = ZeroPoint(graph_.tensor(y).dtype);
    attributes.output = MakeOutput(rounding_);
    attributes.left_shift = 20;
    attributes.x_scale = MakeScale(0.5);
    attributes.y_scale = MakeScale(0.5);
    attributes.output_scale =
        MakeScale(rounding_ == Rounding::kHalfEven ? 0.6 : std::ldexp(1.2, -20));
    return Add(OpKind::kQuantizedBinary, {x, y}, converter::Attributes(attributes));
  }

  TensorId AddLookup(TensorId x) {
    const DType to = Byte();
    const int low = to == DType::kI8 ? -128 : 0;
    return Add(OpKind::kLookup, {x, Integers(to, Shape({256}), low, low + 255)},
               converter::Attributes());
  }

  TensorId AddAny(const std::vector<TensorId>& made) {
    const TensorId x = made[static_cast<size_t>(Below(static_cast<int>(made.size())))];
    const int kind = Below(100);
    if (kind < 45) return AddConv(x, false);
    if (kind < 60) return AddConv(x, true);
    if (kind < 70) return AddPool(x, false);
    if (kind < 78) return AddPool(x, true);
    if (kind < 86) return AddLookup(x);
    const TensorId last = made.back();
    for (const TensorId other : made) {
      if (other != last && ShapeOf(other) == ShapeOf(last)) return AddSum(last, other);
    }
    const TensorId same = AddConv(x, true);
    return same == kNone ? kNone : AddSum(same, same);
  }

  /// A mean, and a matrix product of what is left.
  TensorId AddHead(TensorId x) {
    QuantizedReduceAttributes mean;
    mean.reduce.axes_mask = 12;
    mean.reduce.keep_dims = 0;
    mean.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
    mean.scale = MakeScale(1.0 / (ShapeOf(x)[2] * ShapeOf(x)[3]));
    mean.output = MakeOutput(rounding_);
    const TensorId flat = Add(OpKind::kQuantizedReduce, {x}, converter::Attributes(mean));
    if (flat == kNone) return x;
    QuantizedMatMulAttributes product;
    product.matmul.transpose_b = Below(2);
    const bool once = rounding_ == Rounding::kFixedPoint && Chance(50);
    product.output = MakeOutput(once ? Rounding::kFixedPointOnce : rounding_);
    const int depth = ShapeOf(flat)[1];
    const int outputs = Channels();
    const Shape b =
        product.matmul.transpose_b != 0 ? Shape({outputs, depth}) : Shape({depth, outputs});
    std::vector<TensorId> inputs = {flat, Integers(DType::kI8, b, -128, 127)};
    AddFactors(rounding_, outputs, depth, graph_.tensor(flat).dtype, false, inputs);
    const TensorId y = Add(OpKind::kQuantizedMatMul, inputs, converter::Attributes(product));
    return y == kNone ? flat : y;
  }

  converter::SplitMix64 random_;
  converter::Graph graph_;
  Rounding rounding_ = Rounding::kHalfEven;
  int count_ = 0;
};

}  // namespace

converter::Graph RandomConv(uint64_t seed) {
  for (;; seed += 1U << 20) {
    converter::Graph graph = Generator(seed).Conv();
    if (!graph.OpOrder().empty()) return graph;
  }
}

converter::Graph RandomSegment(uint64_t seed) {
  for (;; seed += 1U << 20) {
    converter::Graph graph = Generator(seed).Segment();
    if (!graph.OpOrder().empty()) return graph;
  }
}

}  // namespace tenon::test
