#include <cmath>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/converter/split/random_draws.hpp"
#include "tests/unit/converter/split/random_op.hpp"

namespace tenon::test {
namespace {

using converter::kNone;
using converter::TensorId;

/// As the generator of float ops. Inputs are small integers (converter/ir/elements.hpp), so factors
/// are drawn to spread their sums over the output's range.
class QuantizedGenerator : public RandomDraws {
 public:
  using RandomDraws::RandomDraws;

 private:
  void Add() override {
    switch (kind_) {
      case OpKind::kQuantize:
      case OpKind::kDequantize:
        return AddQuantize();
      case OpKind::kLookup:
        return AddLookup();
      case OpKind::kQuantizedConv:
        return AddConv();
      case OpKind::kQuantizedMatMul:
        return AddMatMul();
      case OpKind::kQuantizedBinary:
        return AddBinary();
      case OpKind::kQuantizedAveragePool:
        return AddPool();
      case OpKind::kQuantizedReduce:
        return AddReduce();
      default:
        return AddSoftmax();
    }
  }

  DType Byte() { return Chance(50) ? DType::kI8 : DType::kU8; }
  /// A small one, as inputs are.
  int ZeroPoint(DType dtype) { return dtype == DType::kI8 ? Between(-8, 7) : Between(0, 15); }

  TensorId Integers(DType dtype, int count, int low, int high) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = Between(low, high);
    return graph_.AddConstant("c", dtype, Shape({count}), converter::WriteElements(dtype, values));
  }
  TensorId ZeroPoints(DType dtype, int count) {
    return Integers(dtype, count, dtype == DType::kI8 ? -8 : 0, dtype == DType::kI8 ? 7 : 15);
  }
  int OneOrEach(int count) { return Chance(50) ? 1 : count; }

  QuantizedScale Scale(double factor) {
    factor *= Between(50, 150) * 0.01;
    QuantizedScale scale;
    scale.scale = static_cast<float>(factor);
    int exponent = 0;
    scale.multiplier = static_cast<int32_t>(std::ldexp(std::frexp(factor, &exponent), 31));
    scale.shift = exponent;
    return scale;
  }

  QuantizedOutput Output(Rounding rounding) {
    const DType dtype = Byte();
    QuantizedOutput output;
    output.to = static_cast<int32_t>(dtype);
    output.rounding = rounding;
    output.min = dtype == DType::kI8 ? -128 : 0;
    output.max = dtype == DType::kI8 ? 127 : 255;
    output.zero_point = Between(output.min, output.max);
    if (Chance(30)) output.min = output.zero_point;
    return output;
  }
  Rounding EvenOrFixedPoint() { return Chance(50) ? Rounding::kHalfEven : Rounding::kFixedPoint; }

  void AddQuantize() {
    const Shape shape = RandomShape(Between(1, 5));
    const int axis = Below(shape.rank);
    const bool quantizes = kind_ == OpKind::kQuantize;
    constexpr DType kDTypes[] = {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32};
    const DType dtype = kDTypes[Below(quantizes ? 4 : 5)];
    const int count = OneOrEach(shape[axis]);
    std::vector<float> scales(static_cast<size_t>(count));
    for (float& scale : scales) scale = static_cast<float>(Between(1, 50)) * 1e-3F;
    const TensorId x = Input(shape, quantizes ? DType::kF32 : dtype);
    std::vector<TensorId> inputs{x, graph_.AddConstantOf("s", DType::kF32, Shape({count}), scales)};
    if (Chance(70)) inputs.push_back(Integers(dtype, count, 0, 100));
    if (!quantizes) return AddOp(inputs, DequantizeAttributes{axis});
    AddOp(inputs, QuantizeAttributes{static_cast<int32_t>(dtype), axis,
                                     Chance(50) ? Rounding::kHalfEven : Rounding::kHalfAway});
  }

  void AddLookup() {
    const DType to = Byte();
    const TensorId x = Input(RandomShape(Between(1, 5)), Byte());
    AddOp({x, Integers(to, 256, to == DType::kI8 ? -128 : 0, 127)});
  }

  /// Bias and further inputs of a convolution or product of `depth` terms.
  void AddFactors(const QuantizedOutput& output, int outputs, int depth,
                  std::vector<TensorId>& inputs) {
    inputs.push_back(Chance(60) ? Integers(DType::kI32, outputs, -300, 300) : kNone);
    if (output.to == static_cast<int32_t>(DType::kI32)) {
      inputs.insert(inputs.end(), {kNone, kNone});
      return;
    }
    const int count = OneOrEach(outputs);
    std::vector<float> scales;
    std::vector<int32_t> multipliers;
    std::vector<int8_t> shifts;
    for (int i = 0; i < count; ++i) {
      const QuantizedScale scale = Scale(2.0 / std::sqrt(depth));
      scales.push_back(scale.scale);
      multipliers.push_back(scale.multiplier);
      shifts.push_back(static_cast<int8_t>(scale.shift));
    }
    const Shape shape({count});
    if (output.rounding == Rounding::kFixedPoint) {
      inputs.push_back(graph_.AddConstantOf("m", DType::kI32, shape, multipliers));
      inputs.push_back(graph_.AddConstantOf("s", DType::kI8, shape, shifts));
    } else {
      inputs.push_back(graph_.AddConstantOf("m", DType::kF32, shape, scales));
      inputs.push_back(kNone);
    }
  }

  /// Input 7. Kernels that do not use it must not look at its numbers.
  void AddFoldedBias(int outputs, std::vector<TensorId>& inputs) {
    inputs.resize(7, kNone);
    inputs.push_back(Integers(DType::kI32, outputs, -300, 300));
  }

  /// Of i8 or u8, the sum, or f32.
  QuantizedOutput GemmOutput() {
    if (Chance(70)) return Output(EvenOrFixedPoint());
    QuantizedOutput output;
    output.to = static_cast<int32_t>(Chance(50) ? DType::kI32 : DType::kF32);
    return output;
  }

  void AddConv() {
    Shape x = Image();
    QuantizedConvAttributes attributes;
    ConvAttributes& conv = attributes.conv;
    int32_t outputs = Between(1, 20);
    if (Chance(50)) {
      conv.group = Between(1, 5);
      x[1] = conv.group * (Chance(50) ? 1 : Between(1, 3));
      outputs = conv.group * (Chance(50) ? 1 : Between(1, 4));
    }
    Shape w({outputs, x[1] / conv.group, 1, 1});
    for (int i = 0; i < 2; ++i) {
      w[2 + i] = Between(1, 5);
      conv.strides[i] = Between(1, 3);
      if (Chance(25)) conv.dilations[i] = Between(2, 3);
      if (Chance(60)) conv.pads[i] = Below(w[2 + i] + (Chance(10) ? 4 : 0));
      if (Chance(60)) conv.pads[2 + i] = Below(w[2 + i] + (Chance(10) ? 4 : 0));
    }
    attributes.output = GemmOutput();
    const DType x_dtype = Byte();
    const DType w_dtype = Byte();
    std::vector<TensorId> inputs{Input(x, x_dtype), Input(w, w_dtype)};
    AddFactors(attributes.output, outputs, w[1] * w[2] * w[3], inputs);
    inputs.push_back(Chance(70) ? ZeroPoints(x_dtype, OneOrEach(x[1])) : kNone);
    if (Chance(50)) inputs.push_back(ZeroPoints(w_dtype, OneOrEach(outputs)));
    if (Chance(30)) AddFoldedBias(outputs, inputs);
    AddOp(inputs, attributes);
  }

  void AddMatMul() {
    QuantizedMatMulAttributes attributes;
    attributes.matmul.transpose_a = Below(2);
    attributes.matmul.transpose_b = Below(2);
    attributes.output = GemmOutput();
    const Shape batch = RandomShape(Between(0, 2), 3);
    const int32_t sizes[3] = {Between(1, 17), Between(1, 20), Between(1, 40)};  // M, K, N
    const auto matrix = [&](int32_t rows, int32_t columns, int32_t transposed, DType dtype) {
      Shape shape = Chance(60) ? batch : Broadcasting(batch);
      if (transposed != 0) std::swap(rows, columns);
      shape.dims[shape.rank++] = rows;
      shape.dims[shape.rank++] = columns;
      return Input(shape, dtype);
    };
    const DType a = Byte();
    const DType b = Byte();
    std::vector<TensorId> inputs{matrix(sizes[0], sizes[1], attributes.matmul.transpose_a, a),
                                 matrix(sizes[1], sizes[2], attributes.matmul.transpose_b, b)};
    AddFactors(attributes.output, sizes[2], sizes[1], inputs);
    inputs.push_back(Chance(70) ? ZeroPoints(a, 1) : kNone);
    if (Chance(50)) inputs.push_back(ZeroPoints(b, OneOrEach(sizes[2])));
    if (Chance(30)) AddFoldedBias(sizes[2], inputs);
    AddOp(inputs, attributes);
  }

  void AddBinary() {
    const Shape shape = RandomShape(Between(1, 6));
    const DType x = Byte();
    const DType y = Byte();
    QuantizedBinaryAttributes attributes;
    attributes.function = static_cast<BinaryFunction>(Below(3));
    attributes.x_zero_point = ZeroPoint(x);
    attributes.y_zero_point = ZeroPoint(y);
    attributes.output = Output(EvenOrFixedPoint());
    attributes.x_scale = Scale(0.4);
    attributes.y_scale = Scale(0.4);
    attributes.left_shift = Between(10, 20);
    const bool shifts = attributes.output.rounding == Rounding::kFixedPoint &&
                        attributes.function != BinaryFunction::kMul;
    attributes.output_scale = Scale(shifts ? std::ldexp(8.0, -attributes.left_shift) : 0.1);
    AddOp({Input(Broadcasting(shape), x), Input(Broadcasting(shape), y)}, attributes);
  }

  void AddPool() {
    QuantizedAveragePoolAttributes attributes;
    PoolAttributes& pool = attributes.pool;
    for (int i = 0; i < 2; ++i) {
      pool.kernel[i] = Between(1, 5);
      pool.strides[i] = Between(1, 3);
      if (Chance(20)) pool.dilations[i] = 2;
      pool.pads[i] = Chance(50) ? Below(pool.kernel[i]) : 0;
      pool.pads[2 + i] = Chance(50) ? Below(pool.kernel[i]) : 0;
    }
    pool.ceil_mode = Below(2);
    pool.count_include_pad = Below(2);
    const DType dtype = Byte();
    attributes.x_zero_point = ZeroPoint(dtype);
    attributes.scale = Scale(5.0);
    attributes.output = Output(Chance(50) ? Rounding::kHalfEven : Rounding::kHalfAway);
    AddOp({Input(Image(), dtype)}, attributes);
  }

  void AddReduce() {
    const Shape shape = RandomShape(Between(1, 5));
    const DType dtype = Byte();
    QuantizedReduceAttributes attributes;
    attributes.reduce.axes_mask = Below(1 << shape.rank);
    attributes.reduce.keep_dims = Below(2);
    attributes.x_zero_point = ZeroPoint(dtype);
    attributes.output = Output(EvenOrFixedPoint());
    attributes.scale = Scale(0.5);
    AddOp({Input(shape, dtype)}, attributes);
  }

  void AddSoftmax() {
    const Shape shape = RandomShape(Between(1, 5));
    QuantizedSoftmaxAttributes attributes;
    attributes.softmax.axis = Below(shape.rank);
    attributes.output = Output(EvenOrFixedPoint());
    const bool fixed = attributes.output.rounding == Rounding::kFixedPoint;
    attributes.scale = Scale(fixed ? std::ldexp(0.2, 26) : 0.2);
    attributes.least_difference = -Between(0, 20);
    AddOp({Input(shape, Byte())}, attributes);
  }
};

}  // namespace

converter::Graph RandomQuantizedOp(OpKind kind, uint64_t seed) {
  return QuantizedGenerator(kind, seed).Run(seed);
}

}  // namespace tenon::test
