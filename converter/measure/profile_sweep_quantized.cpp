// Makes the sweep's quantized ops as importers do, channels-last int8 from end to end.
#include "converter/measure/profile_sweep.hpp"

namespace tenon::converter {
namespace {

/// Builds chains of quantized ops on random bytes. Values do not matter, except that sums must not
/// all saturate: factors bring them roughly into the range of an i8.
class QuantizedBuilder {
 public:
  QuantizedBuilder(std::string name, uint64_t seed) : builder_(std::move(name), seed) {}

  /// Adds an input of f32 and quantizes it.
  TensorId Input(const std::vector<int32_t>& dims) {
    const TensorId x = builder_.Input(dims);
    return builder_.Add(OpKind::kQuantize, {x, Factor(1.0F / 64)}, Attributes(QuantizeAttributes()),
                        x);
  }

  TensorId Conv(TensorId x, int outputs, int kernel, int stride, int group, Rounding rounding) {
    const int32_t depth = builder_.ShapeOf(x)[1] / group;
    QuantizedConvAttributes conv;
    conv.conv.group = group;
    for (int i = 0; i < 2; ++i) {
      conv.conv.strides[i] = stride;
      conv.conv.pads[i] = conv.conv.pads[2 + i] = kernel / 2;
    }
    conv.output.rounding = rounding;
    const TensorId w = builder_.ConstantOf(DType::kI8, {outputs, depth, kernel, kernel});
    return AddGemm(OpKind::kQuantizedConv, x, w, outputs, depth * kernel * kernel, Attributes(conv),
                   rounding);
  }

  /// Adds a depthwise convolution whose window is all of the image, as a step of a stream has it.
  TensorId Window(TensorId x, Rounding rounding) {
    const Shape shape = builder_.ShapeOf(x);
    QuantizedConvAttributes conv;
    conv.conv.group = shape[1];
    conv.output.rounding = rounding;
    const TensorId w = builder_.ConstantOf(DType::kI8, {shape[1], 1, shape[2], shape[3]});
    return AddGemm(OpKind::kQuantizedConv, x, w, shape[1], shape[2] * shape[3], Attributes(conv),
                   rounding);
  }

  TensorId MatMul(TensorId a, int columns, Rounding rounding) {
    const Shape& shape = builder_.ShapeOf(a);
    const int32_t depth = shape[shape.rank - 1];
    QuantizedMatMulAttributes matmul;
    matmul.matmul.transpose_b = 1;
    matmul.output.rounding = rounding;
    const TensorId w = builder_.ConstantOf(DType::kI8, {columns, depth});
    return AddGemm(OpKind::kQuantizedMatMul, a, w, columns, depth, Attributes(matmul), rounding);
  }

  /// Multiplies two tensors, neither of which is constant.
  TensorId Product(TensorId a, TensorId b, bool transposed, Rounding rounding) {
    const Shape& shape = builder_.ShapeOf(a);
    const int32_t depth = shape[shape.rank - 1];
    QuantizedMatMulAttributes matmul;
    matmul.matmul.transpose_b = transposed ? 1 : 0;
    matmul.output.rounding = rounding;
    const Shape& of_b = builder_.ShapeOf(b);
    return AddGemm(OpKind::kQuantizedMatMul, a, b, of_b[of_b.rank - (transposed ? 2 : 1)], depth,
                   Attributes(matmul), rounding);
  }

  TensorId Binary(BinaryFunction function, TensorId x, TensorId y, Rounding rounding) {
    QuantizedBinaryAttributes binary;
    binary.function = function;
    for (QuantizedScale* scale : {&binary.x_scale, &binary.y_scale, &binary.output_scale}) {
      *scale = {0.5F, 1 << 30, -1};
    }
    const bool is_shifted = rounding == Rounding::kFixedPoint && function != BinaryFunction::kMul;
    binary.left_shift = is_shifted ? 20 : 0;
    binary.output.rounding = rounding;
    return builder_.Add(OpKind::kQuantizedBinary, {x, y}, Attributes(binary), x);
  }

  /// Returns half of the channels, which stay where they are, apart from each other.
  TensorId HalfOfChannels(TensorId x) {
    const Shape shape = builder_.ShapeOf(x);
    SliceAttributes slice;
    slice.rank = shape.rank;
    for (int axis = 0; axis < shape.rank; ++axis) {
      slice.steps[axis] = 1;
      slice.sizes[axis] = axis == 1 ? shape[axis] / 2 : shape[axis];
    }
    return builder_.Add(OpKind::kSlice, {x}, Attributes(slice), x);
  }

  TensorId AveragePool(TensorId x, int kernel, int stride, Rounding rounding) {
    QuantizedAveragePoolAttributes average;
    for (int i = 0; i < 2; ++i) {
      average.pool.kernel[i] = kernel;
      average.pool.strides[i] = stride;
    }
    average.output.rounding = rounding;
    return builder_.Add(OpKind::kQuantizedAveragePool, {x}, Attributes(average), x);
  }

  TensorId MaxPool(TensorId x, int kernel, int stride) {
    PoolAttributes pool;
    for (int i = 0; i < 2; ++i) {
      pool.kernel[i] = kernel;
      pool.strides[i] = stride;
    }
    return builder_.Add(OpKind::kMaxPool, {x}, Attributes(pool), x);
  }

  TensorId Mean(TensorId x) {
    QuantizedReduceAttributes mean;
    mean.reduce.axes_mask = 12;
    mean.scale.scale = 1.0F / 49;
    return builder_.Add(OpKind::kQuantizedReduce, {x}, Attributes(mean), x);
  }

  TensorId Lookup(TensorId x) {
    return builder_.Add(OpKind::kLookup, {x, builder_.ConstantOf(DType::kI8, {256})}, Attributes(),
                        x);
  }

  TensorId Softmax(TensorId x, Rounding rounding) {
    QuantizedSoftmaxAttributes softmax;
    softmax.softmax.axis = builder_.ShapeOf(x).rank - 1;
    softmax.scale = {0.1F, 1 << 30, 20};
    softmax.least_difference = -200;
    softmax.output.rounding = rounding;
    softmax.output.zero_point = -128;
    return builder_.Add(OpKind::kQuantizedSoftmax, {x}, Attributes(softmax), x);
  }

  TensorId Dequantize(TensorId x) {
    return builder_.Add(OpKind::kDequantize, {x, Factor(0.1F)}, Attributes(DequantizeAttributes()),
                        x);
  }

  [[nodiscard]] SweepNetwork Finish() { return builder_.Finish(); }

 private:
  TensorId Factor(float value) { return builder_.Values(std::vector<float>{value}, DType::kF32); }

  TensorId AddGemm(OpKind kind, TensorId x, TensorId w, int32_t columns, int32_t depth,
                   const Attributes& attributes, Rounding rounding) {
    const auto outputs = static_cast<size_t>(columns);
    const TensorId bias = builder_.Values(std::vector<int32_t>(outputs, 100), DType::kI32);
    if (rounding == Rounding::kHalfEven) {
      const float factor = 0.5F / static_cast<float>(depth);
      const TensorId multiplier = builder_.Values(std::vector<float>(outputs, factor), DType::kF32);
      return builder_.Add(kind, {x, w, bias, multiplier}, attributes, x);
    }
    const TensorId multiplier =
        builder_.Values(std::vector<int32_t>(outputs, 1 << 30), DType::kI32);
    const TensorId shift = builder_.Values(std::vector<int8_t>(outputs, -7), DType::kI8);
    return builder_.Add(kind, {x, w, bias, multiplier, shift}, attributes, x);
  }

  SweepBuilder builder_;
};

const char* Name(Rounding rounding) { return kRoundingNames[static_cast<int>(rounding)]; }

void AddImages(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const int size : {7, 14, 28, 56, 112}) {
    QuantizedBuilder builder(fmt::format("quantized {} {}", Name(rounding), size),
                             static_cast<uint64_t>(size));
    TensorId x = builder.Input({1, 3, size, size});
    builder.Conv(x, 32, 3, 2, 1, rounding);  // as a network begins
    for (const int channels : {16, 24, 64, 96, 160, 320}) {
      if (int64_t{channels} * size * size > 400'000) break;
      x = builder.Conv(x, channels, 1, 1, 1, rounding);
      const TensorId y = builder.Conv(x, channels, 3, 1, channels, rounding);
      builder.Conv(x, channels, 3, size > 14 ? 2 : 1, channels, rounding);
      builder.Conv(x, channels, 5, channels % 3 == 0 ? 2 : 1, channels, rounding);
      builder.Conv(x, channels, 7, channels % 3 == 0 ? 1 : 2, channels, rounding);
      for (const int stride : {1, 2}) {  // of which 2 is not for Winograd's way
        if (channels <= 96 || size <= 14) builder.Conv(y, channels, 3, stride, 1, rounding);
      }
      x = builder.Binary(BinaryFunction::kAdd, x, y, rounding);
      builder.MaxPool(x, 2, 2);
      builder.MaxPool(x, 3, 2);
      builder.Lookup(builder.HalfOfChannels(x));
      builder.AveragePool(x, size > 14 ? 2 : 7, 2,
                          rounding == Rounding::kFixedPoint ? Rounding::kHalfAway : rounding);
      builder.Mean(x);
      x = builder.Lookup(x);
    }
    builder.Dequantize(x);
    networks.push_back(builder.Finish());
  }
}

void AddLayers(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const int rows : {1, 4, 49, 98}) {
    QuantizedBuilder builder(fmt::format("quantized layers {} {}", Name(rounding), rows),
                             static_cast<uint64_t>(rows) + 50);
    TensorId x = builder.Input({rows, 64});
    for (const int columns : {12, 128, 640, 128, 8, 256, 1000}) {
      x = builder.MatMul(x, columns, rounding);
      builder.Softmax(x, rounding);
    }
    builder.Dequantize(x);
    networks.push_back(builder.Finish());
  }
}

/// First layers: few channels, of which a row of the window is one tap.
void AddFirstLayers(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const int size : {10, 32, 96}) {
    QuantizedBuilder builder(fmt::format("quantized first {} {}", Name(rounding), size),
                             static_cast<uint64_t>(size) + 70);
    for (const int channels : {1, 3, 8}) {
      for (const int kernel : {3, 5, 9}) {
        const TensorId x = builder.Input({1, channels, size, size});
        for (const int outputs : {8, 64}) builder.Conv(x, outputs, kernel, 1, 1, rounding);
        builder.Conv(x, 16, kernel, 2, 1, rounding);
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Gates of recurrent networks: sums, products and functions of a few bytes, or of many.
void AddGates(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {1, 16}, {1, 40}, {1, 64}, {1, 256}, {16, 128}, {98, 192}}) {
    QuantizedBuilder builder(
        fmt::format("quantized gates {} {}x{}", Name(rounding), dims[0], dims[1]),
        static_cast<uint64_t>(dims[1]));
    TensorId x = builder.Input(dims);
    const TensorId gate = builder.Lookup(builder.Input(dims));
    for (int i = 0; i < 3; ++i) {
      x = builder.Binary(BinaryFunction::kMul, x, gate, rounding);
      x = builder.Lookup(builder.Binary(BinaryFunction::kAdd, x, gate, rounding));
      builder.Softmax(x, rounding);
    }
    builder.Dequantize(x);
    networks.push_back(builder.Finish());
  }
}

/// The two products of attention, and the softmax between them.
void AddAttention(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const int rows : {16, 49, 128, 197}) {
    QuantizedBuilder builder(fmt::format("quantized attention {} {}", Name(rounding), rows),
                             static_cast<uint64_t>(rows) + 90);
    for (const int depth : {16, 32, 64}) {
      const TensorId query = builder.Input({1, 3, rows, depth});
      const TensorId scores =
          builder.Product(query, builder.Input({1, 3, depth, rows}), false, rounding);
      (void)builder.Product(query, builder.Input({1, 3, rows, depth}), true, rounding);
      const TensorId shares = builder.Softmax(scores, rounding);
      builder.Dequantize(
          builder.Product(shares, builder.Input({1, 3, rows, depth}), false, rounding));
    }
    networks.push_back(builder.Finish());
  }
}

/// Steps of streams: windows of a few frames, each of one column, then products of one pixel.
void AddSteps(Rounding rounding, std::vector<SweepNetwork>& networks) {
  for (const int frames : {3, 5, 10, 22}) {
    for (const int channels : {16, 40, 64, 128}) {
      QuantizedBuilder builder(
          fmt::format("quantized steps {} {}x{}", Name(rounding), frames, channels),
          static_cast<uint64_t>(frames * channels));
      TensorId x = builder.Window(builder.Input({1, channels, frames, 1}), rounding);
      for (const int outputs : {32, 64, 48}) x = builder.Conv(x, outputs, 1, 1, 1, rounding);
      builder.Dequantize(builder.Lookup(x));
      networks.push_back(builder.Finish());
    }
  }
}

/// Products whose first factor gets its range when they run: of one row, as steps of recurrent
/// networks have it, and of several.
void AddDynamicProducts(std::vector<SweepNetwork>& networks) {
  for (const int rows : {1, 16, 64, 197}) {
    SweepBuilder builder(fmt::format("dynamic products {}", rows), static_cast<uint64_t>(rows) * 7);
    for (const int depth : {32, 64, 128, 192, 512}) {
      for (const int columns : {32, 128, 256, 512}) {
        const TensorId bias = columns == 256 ? kNone : builder.Constant({columns});
        const TensorId x = builder.Input({rows, depth});
        const TensorId w = builder.ConstantOf(DType::kI8, {depth, columns});
        (void)builder.Add(OpKind::kDynamicMatMul, {x, w, bias, builder.Constant({1})}, Attributes(),
                          x);
      }
    }
    networks.push_back(builder.Finish());
  }
}

}  // namespace

void AddQuantizedNetworks(std::vector<SweepNetwork>& networks) {
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
    AddImages(rounding, networks);
    AddFirstLayers(rounding, networks);
    AddGates(rounding, networks);
    AddLayers(rounding, networks);
    AddAttention(rounding, networks);
    AddSteps(rounding, networks);
  }
  AddDynamicProducts(networks);
}

}  // namespace tenon::converter
