// Random ops on tensors of 8 bits: as ONNX says them, between dequantize and quantize, and as the
// integer ops that TFLite models become.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/random_graph_builder.hpp"

namespace tenon::test {

class RandomQuantizedOps : protected RandomGraphBuilder {
 protected:
  using RandomGraphBuilder::RandomGraphBuilder;

  void AddQuantized() {
    switch (Below(11)) {
      case 0:
      case 1:
        return Requantize(AddRealConv());
      case 2:
        return Requantize(AddRealMatMul());
      case 3:
        return Requantize(AddRealUnary());
      case 4:
        return Requantize(AddRealBinary());
      case 5:
        return Requantize(AddRealOther());
      case 6:
      case 7:
        return AddIntegerConv();
      case 8:
        return AddIntegerMatMul();
      case 9:
        return AddIntegerBinary();
      default:
        return AddIntegerOther();
    }
  }

  /// Of the inputs of a quantized graph.
  DType RandomByteType() { return Chance(60) ? DType::kI8 : DType::kU8; }

 private:
  float Real(float least, float most) {
    return least +
           (most - least) * static_cast<float>(Below(1 << 20)) / static_cast<float>(1 << 20);
  }

  // --- operands -----------------------------------------------------------------------------

  static bool IsByte(const Tensor& tensor) {
    return tensor.dtype == DType::kI8 || tensor.dtype == DType::kU8;
  }
  TensorId Bytes() {
    return Pick([](const Tensor& tensor) { return IsByte(tensor); });
  }
  TensorId ByteImage() {
    return Pick([](const Tensor& tensor) {
      return IsByte(tensor) && tensor.shape.rank == 4 && tensor.shape.Elements() > 0;
    });
  }
  /// Of the same shape, or something that broadcasts to it.
  TensorId BytesLike(TensorId x) {
    const Shape shape = ShapeOf(x);
    const TensorId found =
        Pick([&](const Tensor& tensor) { return IsByte(tensor) && tensor.shape == shape; });
    if (found != kNone && Chance(80)) return found;
    Shape extent = shape;
    for (int i = 0; i < extent.rank; ++i) extent[i] = Chance(50) ? 1 : extent[i];
    return ByteConstant(RandomByteType(), extent);
  }

  TensorId ByteConstant(DType dtype, const Shape& shape) {
    std::vector<std::byte> bytes(static_cast<size_t>(shape.Elements()));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(Below(256));
    return graph_.AddConstant("q", dtype, shape, std::move(bytes));
  }
  template <typename T>
  TensorId Vector(DType dtype, const std::vector<T>& values) {
    return graph_.AddConstantOf("v", dtype, Shape({static_cast<int32_t>(values.size())}), values);
  }
  /// Zero points of a dtype, near its middle.
  TensorId ZeroPoints(DType dtype, size_t count) {
    std::vector<uint8_t> values(count);
    for (uint8_t& value : values) value = static_cast<uint8_t>(ZeroPoint(dtype));
    return graph_.AddConstantOf("z", dtype, Shape({static_cast<int32_t>(count)}), values);
  }
  int32_t ZeroPoint(DType dtype) { return Between(-30, 30) + (dtype == DType::kU8 ? 128 : 0); }

  /// An op whose result is no operand of others.
  template <typename T>
  TensorId Hidden(OpKind kind, const std::vector<TensorId>& inputs, const T& attributes) {
    const TensorId made = Add(kind, inputs, attributes);
    if (made != kNone) tensors_.pop_back();
    return made;
  }

  // --- between dequantize and quantize --------------------------------------------------------

  TensorId Dequantized(TensorId x) {
    if (x == kNone) return kNone;
    const TensorId scale = Vector<float>(DType::kF32, {Real(0.015F, 0.05F)});
    return Hidden(OpKind::kDequantize, {x, scale, ZeroPoints(graph_.tensor(x).dtype, 1)},
                  DequantizeAttributes());
  }
  void Requantize(TensorId real) {
    if (real == kNone) return;
    const DType dtype = RandomByteType();
    QuantizeAttributes attributes;
    attributes.to = static_cast<int32_t>(dtype);
    const TensorId scale = Vector<float>(DType::kF32, {Real(0.015F, 0.05F)});
    (void)Add(OpKind::kQuantize, {real, scale, ZeroPoints(dtype, 1)}, attributes);
  }
  /// Constant weights with a scale for each of the channels along axis 0, or one for all.
  TensorId RealWeights(const Shape& shape) {
    const auto channels = static_cast<size_t>(shape[0]);
    const size_t scales = Chance(70) ? channels : 1;
    const auto fan_in = static_cast<float>(std::max<int64_t>(shape.Elements() / shape[0], 1));
    std::vector<float> values(scales);
    for (float& value : values) value = Real(0.5F, 2.0F) / (127.0F * std::sqrt(fan_in));
    const DType dtype = Chance(85) ? DType::kI8 : DType::kU8;
    std::vector<TensorId> inputs{ByteConstant(dtype, shape), Vector(DType::kF32, values)};
    if (dtype == DType::kU8 || Chance(15)) inputs.push_back(ZeroPoints(dtype, scales));
    return Hidden(OpKind::kDequantize, inputs, DequantizeAttributes());
  }

  /// Attributes of a convolution of `x`, and the shape of its weights.
  ConvAttributes RandomConv(const Shape& x, Shape* weights) {
    ConvAttributes conv;
    if (Chance(30)) conv.group = x[1];
    const int32_t outputs = conv.group > 1 ? x[1] * Between(1, 2) : Between(1, 9);
    *weights = Shape({outputs, x[1] / conv.group, 1, 1});
    for (int i = 0; i < 2; ++i) {
      if (Chance(50)) (*weights)[2 + i] = Between(1, 3);
      if (Chance(20)) conv.strides[i] = 2;
      if (Chance(10)) conv.dilations[i] = 2;
      if ((*weights)[2 + i] == 3 && Chance(60)) conv.pads[i] = conv.pads[2 + i] = 1;
    }
    return conv;
  }

  TensorId AddRealConv() {
    const TensorId x = ByteImage();
    if (x == kNone) return kNone;
    Shape shape;
    const ConvAttributes conv = RandomConv(ShapeOf(x), &shape);
    std::vector<TensorId> inputs{Dequantized(x), RealWeights(shape)};
    if (Chance(70)) inputs.push_back(Constant(DType::kF32, Shape({shape[0]})));
    return WithUnary(Hidden(OpKind::kConv, inputs, conv));
  }

  TensorId AddRealMatMul() {
    const TensorId x = Pick([](const Tensor& tensor) {
      return IsByte(tensor) && tensor.shape.rank >= 2 && tensor.shape.Elements() > 0;
    });
    if (x == kNone) return kNone;
    const int32_t depth = ShapeOf(x)[ShapeOf(x).rank - 1];
    const TensorId w = RealWeights(Shape({Between(1, 17), depth}));
    return WithUnary(
        Hidden(OpKind::kMatMul, {Dequantized(x), w}, MatMulAttributes{0, /*transpose_b=*/1, {}}));
  }

  TensorId WithUnary(TensorId real) { return real != kNone && Chance(40) ? Unary(real) : real; }
  TensorId Unary(TensorId real) {
    constexpr UnaryAttributes kFunctions[] = {
        {UnaryFunction::kSigmoid, 0, 0},      {UnaryFunction::kHardSwish, 0, 0},
        {UnaryFunction::kLeakyRelu, 0.1F, 0}, {UnaryFunction::kClip, -1.0F, 2.0F},
        {UnaryFunction::kRelu, 0, 0},         {UnaryFunction::kTanh, 0, 0}};
    return Hidden(OpKind::kUnary, {real}, kFunctions[Below(6)]);
  }
  TensorId AddRealUnary() {
    const TensorId x = Dequantized(Bytes());
    return x == kNone ? kNone : Unary(x);
  }

  TensorId AddRealBinary() {
    const TensorId x = Bytes();
    if (x == kNone) return kNone;
    constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                             BinaryFunction::kMul, BinaryFunction::kMax};
    BinaryAttributes attributes;
    attributes.function = kFunctions[Below(4)];
    return Hidden(OpKind::kBinary, {Dequantized(x), Dequantized(BytesLike(x))}, attributes);
  }

  TensorId AddRealOther() {
    const TensorId x = Below(3) == 0 ? Bytes() : ByteImage();
    if (x == kNone) return kNone;
    const Shape shape = ShapeOf(x);
    if (shape.rank == 0) return kNone;
    switch (Below(4)) {
      case 0:
        return Hidden(OpKind::kSoftmax, {Dequantized(x)}, SoftmaxAttributes{shape.rank - 1, 0});
      case 1: {
        const TensorId other = BytesLike(x);
        if (ShapeOf(other) != shape) return kNone;
        return Hidden(OpKind::kConcat, {Dequantized(x), Dequantized(other)},
                      ConcatAttributes{Below(shape.rank)});
      }
      case 2: {
        ReduceAttributes reduce;
        reduce.axes_mask = 1 << (shape.rank - 1);
        reduce.keep_dims = Below(2);
        return Hidden(OpKind::kReduce, {Dequantized(x)}, reduce);
      }
      default: {
        if (shape.rank != 4) return kNone;
        return Hidden(Chance(50) ? OpKind::kMaxPool : OpKind::kAveragePool, {Dequantized(x)},
                      RandomPool());
      }
    }
  }

  PoolAttributes RandomPool() {
    PoolAttributes pool;
    for (int i = 0; i < 2; ++i) {
      pool.kernel[i] = Between(1, 3);
      pool.strides[i] = Between(1, 2);
      if (pool.kernel[i] > 1 && Chance(40)) pool.pads[i] = pool.pads[2 + i] = 1;
    }
    return pool;
  }

  // --- integer ops ----------------------------------------------------------------------------

  QuantizedOutput RandomOutput(Rounding rounding) {
    const DType dtype = RandomByteType();
    const int32_t least = dtype == DType::kI8 ? -128 : 0;
    QuantizedOutput output;
    output.to = static_cast<int32_t>(dtype);
    output.rounding = rounding;
    output.zero_point = ZeroPoint(dtype);
    output.min = Chance(30) ? output.zero_point : least;  // as relu does
    output.max = least + 255;
    return output;
  }
  Rounding RandomRounding() { return Chance(50) ? Rounding::kHalfEven : Rounding::kFixedPoint; }

  /// A factor as both roundings take it.
  QuantizedScale ScaleOf(float factor) {
    QuantizedScale scale;
    scale.scale = factor;
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(factor), &exponent);
    scale.multiplier =
        static_cast<int32_t>(std::min<int64_t>(std::llround(fraction * 2147483648.0), INT32_MAX));
    scale.shift = std::clamp(exponent, -31, 30);
    return scale;
  }

  /// Operands of a quantized convolution or product: weights, bias, factors and zero points.
  std::vector<TensorId> GemmInputs(TensorId x, const Shape& weights, int32_t channels,
                                   Rounding rounding) {
    const auto count = static_cast<size_t>(Chance(70) ? channels : 1);
    const auto fan_in =
        static_cast<float>(std::max<int64_t>(weights.Elements() / std::max(channels, 1), 1));
    std::vector<float> factors(count);
    std::vector<int32_t> multipliers(count);
    std::vector<int8_t> shifts(count);
    for (size_t i = 0; i < count; ++i) {
      factors[i] = Real(0.5F, 2.0F) / (70.0F * std::sqrt(fan_in));
      const QuantizedScale scale = ScaleOf(factors[i]);
      multipliers[i] = scale.multiplier;
      shifts[i] = static_cast<int8_t>(scale.shift);
    }
    std::vector<int32_t> bias(static_cast<size_t>(channels));
    for (int32_t& value : bias) value = Between(-3000, 3000);
    const DType dtype = Chance(80) ? DType::kI8 : DType::kU8;
    const bool is_fixed = rounding != Rounding::kHalfEven;
    std::vector<TensorId> inputs(7, kNone);
    inputs[0] = x;
    inputs[1] = ByteConstant(dtype, weights);
    if (Chance(70)) inputs[2] = Vector(DType::kI32, bias);
    inputs[3] = is_fixed ? Vector(DType::kI32, multipliers) : Vector(DType::kF32, factors);
    if (is_fixed) inputs[4] = Vector(DType::kI8, shifts);
    if (Chance(80)) inputs[5] = ZeroPoints(graph_.tensor(x).dtype, 1);
    if (dtype == DType::kU8 || Chance(15)) {
      inputs[6] = ZeroPoints(dtype, Chance(50) ? static_cast<size_t>(channels) : 1);
    }
    return inputs;
  }

  void AddIntegerConv() {
    const TensorId x = ByteImage();
    if (x == kNone) return;
    Shape shape;
    QuantizedConvAttributes attributes;
    attributes.conv = RandomConv(ShapeOf(x), &shape);
    attributes.output = RandomOutput(RandomRounding());
    (void)Add(OpKind::kQuantizedConv, GemmInputs(x, shape, shape[0], attributes.output.rounding),
              attributes);
  }

  void AddIntegerMatMul() {
    const TensorId x = Pick([](const Tensor& tensor) {
      return IsByte(tensor) && tensor.shape.rank >= 2 && tensor.shape.Elements() > 0;
    });
    if (x == kNone) return;
    const int32_t columns = Between(1, 17);
    QuantizedMatMulAttributes attributes;
    attributes.matmul.transpose_b = 1;
    attributes.output = RandomOutput(Chance(30) ? Rounding::kFixedPointOnce : RandomRounding());
    const Shape weights({columns, ShapeOf(x)[ShapeOf(x).rank - 1]});
    (void)Add(OpKind::kQuantizedMatMul, GemmInputs(x, weights, columns, attributes.output.rounding),
              attributes);
  }

  void AddIntegerBinary() {
    const TensorId x = Bytes();
    if (x == kNone) return;
    const TensorId y = BytesLike(x);
    const Rounding rounding = RandomRounding();
    const bool is_fixed = rounding == Rounding::kFixedPoint;
    constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                             BinaryFunction::kMul, BinaryFunction::kMax,
                                             BinaryFunction::kMin};
    QuantizedBinaryAttributes attributes;
    attributes.function = kFunctions[Below(is_fixed ? 3 : 5)];
    attributes.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
    attributes.y_zero_point = ZeroPoint(graph_.tensor(y).dtype);
    attributes.output = RandomOutput(rounding);
    const bool is_product = attributes.function == BinaryFunction::kMul;
    if (is_fixed && !is_product) {
      // As TFLite does: both on twice the larger scale, 20 bits further up.
      attributes.left_shift = 20;
      attributes.x_scale = ScaleOf(Real(0.2F, 0.5F));
      attributes.y_scale = ScaleOf(Real(0.2F, 0.5F));
      attributes.output_scale = ScaleOf(Real(0.5F, 2.0F) / static_cast<float>(1 << 20));
    } else {
      attributes.x_scale = ScaleOf(Real(0.015F, 0.05F));
      attributes.y_scale = ScaleOf(Real(0.015F, 0.05F));
      attributes.output_scale = ScaleOf(Real(0.015F, 0.05F));
    }
    (void)Add(OpKind::kQuantizedBinary, {x, y}, attributes);
  }

  void AddIntegerOther() {
    switch (Below(5)) {
      case 0: {
        const TensorId x = Bytes();
        if (x == kNone) return;
        (void)AddWith(OpKind::kLookup, {x, ByteConstant(RandomByteType(), Shape({256}))}, {});
        return;
      }
      case 1:
        (void)Add(OpKind::kMaxPool, {ByteImage()}, RandomPool());
        return;
      case 2: {
        const TensorId x = ByteImage();
        if (x == kNone) return;
        QuantizedAveragePoolAttributes attributes;
        attributes.pool = RandomPool();
        attributes.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
        attributes.scale = ScaleOf(Real(0.5F, 1.5F));
        attributes.output = RandomOutput(Chance(50) ? Rounding::kHalfEven : Rounding::kHalfAway);
        (void)Add(OpKind::kQuantizedAveragePool, {x}, attributes);
        return;
      }
      case 3: {
        const TensorId x = Bytes();
        if (x == kNone || ShapeOf(x).rank == 0) return;
        QuantizedReduceAttributes attributes;
        attributes.reduce.function = ReduceFunction::kSum;
        attributes.reduce.axes_mask = 1 + Below((1 << ShapeOf(x).rank) - 1);
        attributes.reduce.keep_dims = Below(2);
        attributes.x_zero_point = ZeroPoint(graph_.tensor(x).dtype);
        attributes.scale = ScaleOf(Real(0.05F, 0.4F));
        attributes.output = RandomOutput(RandomRounding());
        (void)Add(OpKind::kQuantizedReduce, {x}, attributes);
        return;
      }
      default:
        return AddIntegerSoftmax();
    }
  }

  void AddIntegerSoftmax() {
    const TensorId x = Bytes();
    if (x == kNone || ShapeOf(x).rank == 0) return;
    QuantizedSoftmaxAttributes attributes;
    attributes.softmax.axis = ShapeOf(x).rank - 1;
    attributes.output = RandomOutput(RandomRounding());
    const bool is_signed = attributes.output.to == static_cast<int32_t>(DType::kI8);
    attributes.output.zero_point = attributes.output.min = is_signed ? -128 : 0;
    if (attributes.output.rounding == Rounding::kFixedPoint) {
      attributes.scale.multiplier = Between(1 << 30, INT32_MAX - 1);
      attributes.scale.shift = Between(20, 24);
      attributes.least_difference = -Between(50, 255);
    } else {
      attributes.scale.scale = Real(0.015F, 0.1F);
    }
    (void)Add(OpKind::kQuantizedSoftmax, {x}, attributes);
  }
};

}  // namespace tenon::test
