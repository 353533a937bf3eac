#include "converter/measure/profile_sweep.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

constexpr int64_t kMostMultiplyAccumulates = 60'000'000;

const std::vector<int> kChannels = {8,   12,  16,  24,  32,  40,  48,  64,  80,  96,  112, 128,
                                    144, 160, 192, 208, 240, 256, 288, 320, 384, 480, 512, 576};

Shape MakeShape(const std::vector<int32_t>& dims) {
  return Shape(dims.data(), static_cast<int32_t>(dims.size()));
}

/// Adds one chain of convolutions over images of `size`; `add` appends a layer to the last tensor.
template <typename AddLayer>
void AddChain(const std::string& name, int size, int length, std::vector<SweepNetwork>& networks,
              const AddLayer& add) {
  SweepBuilder builder(name, static_cast<uint64_t>(size) * 131 + static_cast<uint64_t>(length));
  TensorId x = builder.Input({1, 16, size, size});
  for (int i = 0; i < length; ++i) x = add(builder, x, i);
  networks.push_back(builder.Finish());
}

/// Returns the number of output channels nearest to `wanted` that stays within the limit.
int Affordable(const Shape& x, int wanted, int taps) {
  const int64_t each = int64_t{x[1]} * x[2] * x[3] * taps;
  return static_cast<int>(
      std::clamp<int64_t>(kMostMultiplyAccumulates / std::max<int64_t>(each, 1), 8, wanted));
}

void AddConvNetworks(std::vector<SweepNetwork>& networks) {
  for (const int size : {7, 10, 13, 14, 20, 28, 40, 56, 80, 112}) {
    AddChain(fmt::format("pointwise {}", size), size, 16, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int wanted = builder.Pick(kChannels);
               const Shape& shape = builder.ShapeOf(x);
               return builder.Conv(x, Affordable(shape, wanted, 1), 1, 1, 1, i % 2 == 0,
                                   i % 4 == 3);
             });
    AddChain(fmt::format("3x3 {}", size), size, 10, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int wanted = builder.Pick(kChannels);
               const Shape& shape = builder.ShapeOf(x);
               return builder.Conv(x, Affordable(shape, wanted, 9), 3, 1, 1, i % 2 == 0,
                                   i % 4 == 3);
             });
    AddChain(fmt::format("wide {}", size), size, 8, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int kernel = i % 3 == 2 ? 7 : 5;
               const int wanted = builder.Pick(kChannels) / 4;
               const Shape& shape = builder.ShapeOf(x);
               return builder.Conv(x, Affordable(shape, std::max(wanted, 4), kernel * kernel),
                                   kernel, 1, 1, i % 2 == 0);
             });
    AddChain(
        fmt::format("depthwise {}", size), size, 16, networks,
        [](SweepBuilder& builder, TensorId x, int i) {
          const int channels = builder.ShapeOf(x)[1];
          if (i % 2 == 0) {
            return builder.Conv(x, builder.Pick(kChannels), 1, 1, 1, false);
          }
          const int stride = i % 8 == 5 && builder.ShapeOf(x)[2] > 4 ? 2 : 1;
          const int kernel = i % 8 == 3 ? 7 : i % 8 == 7 ? 1 : i % 6 == 1 ? 5 : 3;
          return builder.Conv(x, channels, kernel, stride, channels, builder.Pick({0, 1}) == 1);
        });
  }
  for (const int size : {7, 14, 28, 56}) {
    AddChain(fmt::format("groups {}", size), size, 10, networks,
             [](SweepBuilder& builder, TensorId, int i) {
               const int each = builder.Pick({2, 4, 4, 8, 16, 24, 32});
               const int channels = each * builder.Pick({4, 6, 8});
               const TensorId x = builder.Conv(builder.Root(), channels, 1, 1, 1, false);
               return builder.Conv(x, channels, 3, i % 5 == 4 ? 2 : 1, channels / each, true);
             });
  }
  // Channels with several outputs each.
  for (const int size : {7, 14, 28}) {
    AddChain(fmt::format("multiplied {}", size), size, 6, networks,
             [](SweepBuilder& builder, TensorId, int i) {
               const int channels = builder.Pick({8, 16, 24});
               const TensorId x = builder.Conv(builder.Root(), channels, 1, 1, 1, false);
               return builder.Conv(x, channels * builder.Pick({2, 3, 4, 6}), i % 3 == 2 ? 5 : 3,
                                   i % 2 + 1, channels, true);
             });
  }
  // All of it fits in the second cache, including weights.
  for (const int size : {8, 12, 16, 24, 32}) {
    for (const int kernel : {1, 3}) {
      AddChain(fmt::format("small {} {}", kernel, size), size, 8, networks,
               [kernel](SweepBuilder& builder, TensorId x, int i) {
                 const int channels = builder.ShapeOf(x)[1];
                 if (i % 4 == 3) return builder.Conv(x, channels, 3, 1, channels, true);
                 const int wanted = builder.Pick({8, 12, 16, 16, 24, 32, 48, 64});
                 return builder.Conv(x, wanted, kernel, 1, 1, true, i % 2 == 1);
               });
    }
  }
  // No cache can contain these weights.
  for (const int size : {4, 6, 8, 13}) {
    AddChain(fmt::format("heavy {}", size), size, 16, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int kernel = i % 2 == 0 ? 3 : 1;
               const int wanted = builder.Pick({192, 256, 288, 320, 384}) * (kernel == 3 ? 1 : 2);
               return builder.Conv(x, std::min(wanted, 640), kernel, 1, 1, true);
             });
  }
  // The images have one pixel, as at the end of classifiers: the speed is that of loading weights.
  for (const int length : {2, 4, 10}) {
    AddChain(fmt::format("one pixel {}", length), 1, length, networks,
             [](SweepBuilder& builder, TensorId x, int) {
               return builder.Conv(x, builder.Pick({320, 512, 1001, 1024, 1280}), 1, 1, 1, true);
             });
  }
  // No cache can contain these images.
  for (const int size : {160, 224}) {
    AddChain(fmt::format("large {}", size), size, 12, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int channels = builder.ShapeOf(x)[1];
               const int stride = i % 6 == 5 ? 2 : 1;
               if (i % 3 == 2) return builder.Conv(x, channels, 3, stride, channels, true);
               return builder.Conv(x, builder.Pick({16, 24, 32, 48, 64}), i % 3 == 0 ? 1 : 3, 1, 1,
                                   true);
             });
  }
  // These cover strides, few channels, and odd numbers of them.
  for (const int size : {8, 16, 30, 56, 112, 160, 224}) {
    AddChain(fmt::format("strided {}", size), size, 10, networks,
             [](SweepBuilder& builder, TensorId, int i) {
               const int channels = builder.Pick({16, 24, 32, 48, 64, 96, 128, 192});
               const TensorId x = builder.Conv(builder.Root(), channels, 1, 1, 1, false);
               const int kernel = i % 3 == 2 ? 1 : 3;
               const int wanted = builder.Pick(kChannels);
               return builder.Conv(x,
                                   Affordable(builder.ShapeOf(x), wanted, kernel * kernel / 2 + 1),
                                   kernel, 2, 1, true);
             });
    AddChain(fmt::format("odd {}", size), size, 12, networks,
             [](SweepBuilder& builder, TensorId x, int i) {
               const int channels =
                   builder.Pick({1, 2, 3, 4, 6, 10, 11, 18, 21, 27, 33, 36, 58, 72, 85});
               return builder.Conv(x, channels, i % 2 == 0 ? 1 : 3, 1, 1, i % 3 == 0);
             });
    AddChain(fmt::format("first {}", size), size, 14, networks,
             [size](SweepBuilder& builder, TensorId, int i) {
               const int channels = builder.Pick({1, 1, 3, 3, 3, 4, 6, 8, 12, 16});
               const int kernel = builder.Pick({3, 3, 3, 5, 7});
               const TensorId x = builder.Input({1, channels, size, size});
               return builder.Conv(x, builder.Pick({1, 4, 8, 16, 20, 24, 32, 48, 64}), kernel,
                                   i % 2 + 1, 1, i % 2 == 0);
             });
  }
}

/// A convolution of windows without padding.
void AddWindows(SweepBuilder& builder, const std::vector<int32_t>& image,
                const std::vector<int32_t>& weights, int stride_high, int stride_wide) {
  const TensorId x = builder.Input(image);
  ConvAttributes conv;
  conv.strides[0] = stride_high;
  conv.strides[1] = stride_wide;
  builder.Add(OpKind::kConv, {x, builder.Constant(weights), builder.Constant({weights[0]})},
              Attributes(conv), x);
}

void AddLargeWindowNetworks(std::vector<SweepNetwork>& networks) {
  // Windows of hundreds of taps, which overlap: patches that do not are rows of a product.
  for (const int size : {96, 160, 224}) {
    SweepBuilder builder(fmt::format("overlaps {}", size), static_cast<uint64_t>(size) * 7);
    for (const int side : {14, 16, 31}) {
      for (const int outputs : {64, 192, 384}) {
        AddWindows(builder, {1, 3, size, size}, {outputs, 3, side, side}, side - 1, side - 1);
      }
    }
    networks.push_back(builder.Finish());
  }
  // Windows of few channels are longer than wide, as spectra are looked at.
  for (const int channels : {4, 8, 16, 32}) {
    SweepBuilder builder(fmt::format("spectra {}", channels), static_cast<uint64_t>(channels) * 3);
    for (const int outputs : {1, 4, 8, 32}) {
      for (const int wide : {9, 31}) {
        AddWindows(builder, {1, channels, 60, 90}, {outputs, channels, 3, wide}, 1, 1);
      }
    }
    networks.push_back(builder.Finish());
  }
  // Sound is filtered, and cut into frames.
  for (const int samples : {4000, 16000, 40000}) {
    SweepBuilder builder(fmt::format("frames {}", samples), static_cast<uint64_t>(samples));
    for (const int window : {192, 256, 400}) {
      for (const int outputs : {1, 2, 24, 40, 129}) {
        AddWindows(builder, {1, 1, 1, samples}, {outputs, 1, 1, window}, 1, outputs <= 2 ? 2 : 128);
      }
    }
    networks.push_back(builder.Finish());
  }
}

void AddPoolNetworks(std::vector<SweepNetwork>& networks) {
  for (const int size : {7, 14, 28, 55, 112}) {
    AddChain(fmt::format("pools {}", size), size, 20, networks,
             [size](SweepBuilder& builder, TensorId, int i) {
               const int channels = builder.Pick({10, 16, 24, 64, 96, 192, 480, 832});
               const TensorId x = builder.Conv(builder.Root(), channels, 1, 1, 1, false);
               PoolAttributes pool;
               const int kernel = i % 10 == 9 ? size : builder.Pick({2, 3, 3, 3, 5});
               const int stride = kernel == size ? 1 : builder.Pick({1, 2});
               for (int k = 0; k < 2; ++k) {
                 pool.kernel[k] = kernel;
                 pool.strides[k] = stride;
                 if (kernel != size) pool.pads[k] = pool.pads[k + 2] = kernel % 2;
               }
               return builder.Add(i % 2 == 0 ? OpKind::kMaxPool : OpKind::kAveragePool, {x},
                                  Attributes(pool), x);
             });
  }
  // Maps of scores, and images that are halved.
  for (const int channels : {1, 3}) {
    SweepBuilder builder(fmt::format("pools of {}", channels), static_cast<uint64_t>(channels));
    for (const int size : {24, 96, 160}) {
      for (const int kernel : {2, 3, 5, 9}) {
        PoolAttributes pool;
        for (int k = 0; k < 2; ++k) {
          pool.kernel[k] = kernel;
          pool.strides[k] = kernel == 2 ? 2 : 1;
          pool.pads[k] = pool.pads[k + 2] = kernel == 2 ? 0 : kernel / 2;
        }
        const TensorId x = builder.Input({1, channels, size, size});
        for (const OpKind kind : {OpKind::kMaxPool, OpKind::kAveragePool}) {
          builder.Add(kind, {x}, Attributes(pool), x);
        }
      }
    }
    networks.push_back(builder.Finish());
  }
  for (const int size : {14, 28, 56}) {
    AddChain(fmt::format("lrn {}", size), size, 6, networks,
             [](SweepBuilder& builder, TensorId, int i) {
               const TensorId x = builder.Conv(builder.Root(), 16 << (i % 5), 1, 1, 1, false);
               LrnAttributes lrn;
               lrn.size = i % 2 == 0 ? 5 : 3;
               return builder.Add(OpKind::kLrn, {x}, Attributes(lrn), x);
             });
  }
}

void AddLayers(const std::string& name, const std::vector<int32_t>& input,
               const std::vector<int>& widths, int length, std::vector<SweepNetwork>& networks) {
  SweepBuilder builder(name, static_cast<uint64_t>(input[0] * 17 + length));
  TensorId x = builder.Input(input);
  for (int i = 0; i < length; ++i) {
    const int columns = builder.Pick(widths);
    const TensorId b = builder.Constant({builder.ShapeOf(x)[1], columns});
    const TensorId bias = builder.Constant({columns});
    MatMulAttributes matmul;
    if (i % 2 == 0) matmul.activation.function = UnaryFunction::kRelu;
    if (i % 4 == 1) matmul.activation.function = UnaryFunction::kGelu;
    if (i % 8 == 7) matmul.activation.function = UnaryFunction::kSilu;
    x = builder.Add(OpKind::kMatMul, {x, b, bias}, Attributes(matmul), x);
  }
  networks.push_back(builder.Finish());
}

/// Attention as one op, and the products and the softmax that it is made of.
void AddAttentionNetworks(std::vector<SweepNetwork>& networks) {
  for (const int rows : {1, 4, 16, 50, 98, 128, 197}) {
    SweepBuilder builder(fmt::format("attention {}", rows), static_cast<uint64_t>(rows) * 19);
    for (const int heads : {1, 2, 4}) {
      for (const int depth : {32, 64}) {
        const TensorId a = builder.Input({heads, rows, depth});
        const TensorId b = builder.Input({heads, rows, depth});
        MatMulAttributes matmul;
        matmul.transpose_b = 1;
        const TensorId scores = builder.Add(OpKind::kMatMul, {a, b}, Attributes(matmul), a);
        SoftmaxAttributes softmax;
        softmax.axis = 2;
        builder.Add(OpKind::kSoftmax, {scores}, Attributes(softmax), scores);
        const TensorId values = builder.Input({heads, rows, depth});
        builder.Add(OpKind::kMatMul, {scores, values}, Attributes(MatMulAttributes()), scores);
        std::vector<TensorId> whole = {a, b, values};
        if (heads == 2) whole.push_back(builder.Input({1, rows}));
        builder.Add(OpKind::kAttention, whole, Attributes(AttentionAttributes{0.125F}), a);
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Convolutions whose weights a network makes.
void AddComputedConvNetworks(std::vector<SweepNetwork>& networks) {
  for (const int size : {4, 8, 16, 32}) {
    SweepBuilder builder(fmt::format("computed weights {}", size),
                         static_cast<uint64_t>(size) * 29);
    for (const int inputs : {16, 64, 192}) {
      for (const int outputs : {20, 64, 128}) {
        for (const int side : {1, 3}) {
          const TensorId x = builder.Input({1, inputs, size, size});
          ConvAttributes conv;
          for (int32_t& pad : conv.pads) pad = side / 2;
          builder.Add(OpKind::kConv, {x, builder.Input({outputs, inputs, side, side})},
                      Attributes(conv), x);
        }
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Products with one column: last layers of one output, and rows that are weighted.
void AddColumnNetworks(std::vector<SweepNetwork>& networks) {
  for (const int depth : {8, 16, 64, 500}) {
    SweepBuilder builder(fmt::format("columns {}", depth), static_cast<uint64_t>(depth) * 23);
    for (const int rows : {1, 30, 400}) {
      const TensorId whole = builder.Input({rows, depth});
      builder.Add(OpKind::kMatMul, {whole, builder.Constant({depth, 1})},
                  Attributes(MatMulAttributes()), whole);
      const TensorId several = builder.Input({12, rows, depth});
      builder.Add(OpKind::kMatMul, {several, builder.Input({12, depth, 1})},
                  Attributes(MatMulAttributes()), several);
    }
    networks.push_back(builder.Finish());
  }
}

void AddGemmNetworks(std::vector<SweepNetwork>& networks) {
  const std::vector<int> widths = {8, 10, 12, 64, 100, 128, 192, 256, 384, 512, 640, 768, 1000};
  for (const int rows : {1, 2, 5, 16, 49, 98, 196}) {
    AddLayers(fmt::format("layers {}", rows), {rows, 64}, widths, 16, networks);
    AddLayers(fmt::format("few layers {}", rows), {rows, 64}, widths, 4, networks);
  }
  AddLayers("many layers 1", {1, 64}, widths, 48, networks);
  // As of transformers: a few rows read weights of many MB.
  for (const int rows : {49, 128}) {
    AddLayers(fmt::format("wide layers {}", rows), {rows, 768}, {768, 1536, 3072}, 5, networks);
  }
  // As of windows: many rows, which no core's own cache contains.
  for (const int rows : {784, 1568, 3136}) {
    AddLayers(fmt::format("long layers {}", rows), {rows, 96}, {96, 192, 288, 384}, 8, networks);
  }
  // The weights are those of classifiers, up to more than any cache contains.
  for (const int length : {1, 2, 4, 8, 20}) {
    AddLayers(fmt::format("classifiers {}", length), {1, 1024}, {1000, 1001, 1024, 1280, 2048},
              length, networks);
  }
  AddColumnNetworks(networks);
  AddAttentionNetworks(networks);
  AddComputedConvNetworks(networks);
}

}  // namespace

TensorId SweepBuilder::Input(const std::vector<int32_t>& dims, DType dtype) {
  const std::string name = fmt::format("input_{}", inputs_++);
  const TensorId id = network_.graph.AddTensor(name, dtype, MakeShape(dims));
  network_.graph.AddInput(id, name);
  return id;
}

TensorId SweepBuilder::Constant(const std::vector<int32_t>& dims) {
  return ConstantOf(DType::kF32, dims);
}

TensorId SweepBuilder::ConstantOf(DType dtype, const std::vector<int32_t>& dims) {
  const Shape shape = MakeShape(dims);
  return network_.graph.AddConstant("constant", dtype, shape,
                                    RandomElements(dtype, shape.Elements(), random_.Next()));
}

TensorId SweepBuilder::Indices(int32_t count, int32_t limit) {
  std::vector<int64_t> values;
  for (int32_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int64_t>(random_.Next() % static_cast<uint64_t>(limit)));
  }
  return network_.graph.AddConstantOf("indices", DType::kI64, MakeShape({count}), values);
}

TensorId SweepBuilder::Add(OpKind kind, const std::vector<TensorId>& inputs,
                           const Attributes& attributes, TensorId otherwise) {
  const Result<TensorId> added = network_.graph.AddOpTensor(kind, "", inputs, attributes);
  return added.ok() ? *added : otherwise;
}

TensorId SweepBuilder::Conv(TensorId x, int outputs, int kernel, int stride, int group, bool relu,
                            bool residual) {
  const TensorId w = Constant({outputs, ShapeOf(x)[1] / group, kernel, kernel});
  const TensorId bias = Constant({outputs});
  ConvAttributes conv;
  conv.group = group;
  for (int k = 0; k < 2; ++k) {
    conv.strides[k] = stride;
    conv.pads[k] = conv.pads[k + 2] = kernel / 2;
  }
  if (relu) conv.activation.function = UnaryFunction::kRelu;
  // Some use a function other than those that cost nothing.
  if (!relu && Pick({0, 1}) == 1) conv.activation.function = UnaryFunction::kSilu;
  const bool same = residual && stride == 1 && outputs == ShapeOf(x)[1];
  const std::vector<TensorId> inputs =
      same ? std::vector<TensorId>{x, w, bias, x} : std::vector<TensorId>{x, w, bias};
  return Add(OpKind::kConv, inputs, Attributes(conv), x);
}

SweepNetwork SweepBuilder::Finish() {
  Graph& graph = network_.graph;
  int outputs = 0;
  for (const TensorId id : graph.Tensors()) {
    if (graph.tensor(id).producer != kNone && !graph.IsRead(id)) {
      graph.AddOutput(id, fmt::format("output_{}", outputs++));
    }
  }
  return std::move(network_);
}

std::vector<SweepNetwork> SweepNetworks() {
  std::vector<SweepNetwork> networks;
  AddConvNetworks(networks);
  AddLargeWindowNetworks(networks);
  AddPoolNetworks(networks);
  AddGemmNetworks(networks);
  AddRowNetworks(networks);
  AddMovementNetworks(networks);
  AddStackNetworks(networks);
  AddQuantizedNetworks(networks);
  return networks;
}

}  // namespace tenon::converter
