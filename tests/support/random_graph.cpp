#include "tests/support/random_row_ops.hpp"

namespace tenon::test {
namespace {

/// One function a kind of op.
class Generator : private RandomRowOps {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options) : RandomRowOps(seed, options) {}

  Graph Run() {
    graph_.name = fmt::format("random_{}", seed_);
    AddInputs();
    const int ops = std::min(1 + Below(14), options_.most_ops);
    for (int tries = 0; tries < 8 * ops && CountOps() < ops; ++tries) AddSomething();
    AddOutputs();
    return std::move(graph_);
  }

 private:
  // --- ops ----------------------------------------------------------------------------------

  void AddSomething() {
    if (options_.quantized && Chance(60)) return AddQuantized();
    switch (Below(26)) {
      case 0:
      case 1:
      case 2:
        return AddConv();
      case 3:
        return AddPool();
      case 4:
      case 5:
        return AddUnary(Float());
      case 6:
      case 7:
        return AddBinary();
      case 8:
        return Chance(50) ? AddBinary() : AddSteps(Any());
      case 9:
      case 10:
      case 11:
      case 12:
        return AddConcat();
      case 13:
      case 14:
        return AddSlice();
      case 15:
      case 16:
        return AddReshape(Any());
      case 17:
      case 18:
        return AddTranspose(Any());
      case 19:
        return AddPad();
      case 20:
        return AddReduceOrSoftmax();
      case 21:
        return Chance(75) ? AddMatMul() : AddAttention();
      case 22:
        return AddExpandOrGather();
      case 23:
        return AddResizeOrLrn();
      case 24:
        return AddShuffle();
      default:
        return AddCastOrSelect();
    }
  }

  Activation RandomActivation() {
    constexpr UnaryFunction kFunctions[] = {
        UnaryFunction::kIdentity, UnaryFunction::kIdentity, UnaryFunction::kRelu,
        UnaryFunction::kClip,     UnaryFunction::kSigmoid,  UnaryFunction::kLeakyRelu,
        UnaryFunction::kTanh,     UnaryFunction::kSoftsign, UnaryFunction::kHardSwish};
    Activation activation;
    activation.function = kFunctions[Below(9)];
    if (activation.function == UnaryFunction::kClip) {
      activation.a = -0.5F;
      activation.b = 0.75F;
    }
    if (activation.function == UnaryFunction::kLeakyRelu) activation.a = 0.125F;
    return activation;
  }

  TensorId AddUnaryTo(TensorId x) {
    if (x == kNone) return kNone;
    const Activation activation = RandomActivation();
    return Add(OpKind::kUnary, {x},
               UnaryAttributes{activation.function, activation.a, activation.b});
  }
  void AddUnary(TensorId x) { (void)AddUnaryTo(x); }

  void AddConv() {
    const TensorId x = Image();
    if (x == kNone) return;
    const Shape shape = ShapeOf(x);
    ConvAttributes attributes;
    const int32_t channels = shape[1];
    int32_t outputs = Chance(15) ? 16 : Between(1, 6);
    if (Chance(25)) {
      attributes.group = channels;  // depthwise, or grouped
      outputs = channels * Between(1, 2);
      if (channels % 2 == 0 && Chance(30)) attributes.group = 2;
    }
    const TensorId partner = Chance(30) ? SameChannels(x) : kNone;
    if (partner != kNone) outputs = ShapeOf(partner)[1] * attributes.group;
    Shape w({outputs, channels / attributes.group, 1, 1});
    for (int i = 0; i < 2; ++i) {
      if (Chance(50)) w[2 + i] = Between(1, 3);
      if (Chance(20)) attributes.strides[i] = 2;
      if (Chance(10)) attributes.dilations[i] = 2;
      if (Chance(50) && w[2 + i] == 3) attributes.pads[i] = attributes.pads[2 + i] = 1;
      if (Chance(10)) attributes.pads[2 * Below(2) + i] = 1;
    }
    if (Chance(30)) attributes.activation = RandomActivation();
    const double scale = 1 / std::sqrt(static_cast<double>(w[1] * w[2] * w[3]));
    std::vector<TensorId> inputs{x, Constant(DType::kF32, w, scale), kNone};
    if (Chance(60)) inputs[2] = Constant(DType::kF32, Shape({outputs}), 0.5);
    TensorId y = Add(OpKind::kConv, inputs, attributes);
    if (y == kNone) return;
    if (Chance(25)) y = AddBatchNorm(y);
    if (Chance(35)) {
      const TensorId other = SameTypeAs(y);
      BinaryAttributes add;
      if (other != kNone && y != kNone) {
        y = Chance(50) ? Add(OpKind::kBinary, {y, other}, add)
                       : Add(OpKind::kBinary, {other, y}, add);
      }
    }
    if (Chance(40)) AddUnary(y);
    if (Chance(10)) AddResidualConv(x, channels);
  }

  /// A convolution that adds a residual itself, also its own input.
  void AddResidualConv(TensorId x, int32_t channels) {
    const TensorId residual = Chance(40) ? x : SameTypeAs(x);
    ConvAttributes attributes;
    const int32_t kernel = Chance(50) ? 1 : 3;
    for (int i = 0; i < 4; ++i) attributes.pads[i] = kernel / 2;
    attributes.activation = RandomActivation();
    const TensorId w = Constant(DType::kF32, Shape({channels, channels, kernel, kernel}), 0.25);
    (void)Add(OpKind::kConv, {x, w, kNone, residual}, attributes);
  }

  TensorId AddBatchNorm(TensorId x) {
    const Shape shape({ShapeOf(x)[1], 1, 1});
    const TensorId scaled = Add(OpKind::kBinary, {x, Constant(DType::kF32, shape)},
                                BinaryAttributes{BinaryFunction::kMul, {}});
    return Add(OpKind::kBinary, {scaled, Constant(DType::kF32, shape)},
               BinaryAttributes{BinaryFunction::kAdd, {}});
  }

  /// An image with the spatial size of `x`.
  TensorId SameChannels(TensorId x) {
    const Shape shape = ShapeOf(x);
    return Pick([&](const Tensor& tensor) {
      return tensor.dtype == DType::kF32 && tensor.shape.rank == 4 && tensor.shape[0] == shape[0] &&
             tensor.shape[2] == shape[2] && tensor.shape[3] == shape[3];
    });
  }

  void AddPool() {
    PoolAttributes attributes;
    for (int i = 0; i < 2; ++i) {
      attributes.kernel[i] = Between(1, 3);
      attributes.strides[i] = Between(1, 2);
      if (attributes.kernel[i] > 1 && Chance(40)) attributes.pads[i] = 1;
      if (attributes.kernel[i] > 1 && Chance(40)) attributes.pads[2 + i] = 1;
    }
    attributes.ceil_mode = Chance(20) ? 1 : 0;
    const bool average = Chance(50);
    if (average) attributes.count_include_pad = Below(2);
    (void)Add(average ? OpKind::kAveragePool : OpKind::kMaxPool, {Image()}, attributes);
  }

  /// x and: itself, a tensor of its type, a constant, or a slice of itself that broadcasts.
  void AddBinary() {
    TensorId x = Any();
    if (x == kNone || graph_.tensor(x).dtype == DType::kBool) return;
    const DType dtype = graph_.tensor(x).dtype;
    TensorId other = kNone;
    switch (Below(6)) {
      case 0:
        other = x;
        break;
      case 1:
        other = Broadcasting(x);
        break;
      case 2: {
        Shape shape = ShapeOf(x);
        for (int i = 0; i < shape.rank; ++i) shape[i] = Chance(50) ? 1 : shape[i];
        other = Constant(dtype, shape);
        break;
      }
      default:
        other = SameTypeAs(x);
    }
    if (other == kNone) return;
    constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kAdd,
                                             BinaryFunction::kSub, BinaryFunction::kMul,
                                             BinaryFunction::kMax, BinaryFunction::kMin};
    BinaryAttributes attributes;
    attributes.function = kFunctions[Below(6)];
    if (dtype == DType::kF32 && Chance(25)) attributes.activation = RandomActivation();
    if (Chance(50)) std::swap(other, x);
    (void)Add(OpKind::kBinary, {x, other}, attributes);
  }

  /// One slice of `x` along some of its dimensions.
  TensorId Broadcasting(TensorId x) {
    SliceAttributes attributes = WholeSlice(ShapeOf(x));
    for (int i = 0; i < attributes.rank; ++i) {
      if (!Chance(50) || attributes.sizes[i] == 0) continue;
      attributes.begins[i] = Chance(60) ? 0 : Below(attributes.sizes[i]);
      attributes.sizes[i] = 1;
    }
    return Add(OpKind::kSlice, {x}, attributes);
  }

  static SliceAttributes WholeSlice(const Shape& shape) {
    SliceAttributes attributes;
    attributes.rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) {
      attributes.sizes[i] = shape[i];
      attributes.steps[i] = 1;
    }
    return attributes;
  }

  void AddSlice() {
    const TensorId x = Any();
    if (x == kNone) return;
    const Shape shape = ShapeOf(x);
    SliceAttributes attributes = WholeSlice(shape);
    const bool split = Chance(40);  // into two parts that meet again, perhaps
    for (int i = 0; i < shape.rank; ++i) {
      if (!Chance(40) || shape[i] == 0) continue;
      const int begin = Below(shape[i]);
      const int step = Chance(70) ? 1 : Between(2, 3);
      attributes.begins[i] = begin;
      attributes.steps[i] = step;
      attributes.sizes[i] = 1 + Below((shape[i] - begin + step - 1) / step);
      if (Chance(8)) {
        attributes.steps[i] = -1;
        attributes.sizes[i] = 1 + Below(begin + 1);
      }
      if (attributes.sizes[i] == 1 && Chance(10)) attributes.steps[i] = INT32_MAX;
      if (Chance(2)) attributes.sizes[i] = 0;
      if (split) break;
    }
    (void)Add(OpKind::kSlice, {x}, attributes);
    if (!split) return;
    for (int i = 0; i < shape.rank; ++i) {
      if (attributes.sizes[i] == shape[i] || attributes.steps[i] != 1) continue;
      const int end = attributes.begins[i] + attributes.sizes[i];
      SliceAttributes rest = WholeSlice(shape);
      rest.begins[i] = end;
      rest.sizes[i] = shape[i] - end;
      if (rest.sizes[i] > 0) (void)Add(OpKind::kSlice, {x}, rest);
    }
  }

  void AddConcat() {
    const TensorId first = Any();
    if (first == kNone || ShapeOf(first).rank == 0) return;
    const Shape shape = ShapeOf(first);
    const DType dtype = graph_.tensor(first).dtype;
    const int axis = shape.rank == 4 && Chance(60) ? 1 : Below(shape.rank);
    std::vector<TensorId> parts{first};
    const int count = Between(1, 4);
    for (int i = 1; i < count; ++i) {
      TensorId part = Pick([&](const Tensor& tensor) {
        Shape aligned = tensor.shape;
        if (aligned.rank != shape.rank || tensor.dtype != dtype) return false;
        aligned[axis] = shape[axis];
        return aligned == shape;
      });
      if (Chance(10) && dtype != DType::kBool) {
        Shape extent = shape;
        extent[axis] = Between(1, 2);
        part = Constant(dtype, extent);
      }
      if (part != kNone) parts.push_back(part);
    }
    if (Chance(50)) std::reverse(parts.begin(), parts.end());
    (void)Add(OpKind::kConcat, parts, ConcatAttributes{axis});
  }

  /// Merges and splits neighbouring dimensions at random.
  void AddReshape(TensorId x) {
    if (x == kNone) return;
    std::vector<int32_t> dims(ShapeOf(x).dims, ShapeOf(x).dims + ShapeOf(x).rank);
    const int changes = Between(1, 3);
    for (int i = 0; i < changes; ++i) {
      const auto count = static_cast<int>(dims.size());
      const auto at = static_cast<size_t>(Below(count + 1));
      if (Chance(40) && at + 1 < dims.size()) {
        dims[at] *= dims[at + 1];
        dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else if (Chance(30) && count < 6) {
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
      } else if (at < dims.size() && count < 6) {
        for (const int32_t factor : {2, 3, 4, 5}) {
          if (dims[at] % factor != 0 || dims[at] == 0 || !Chance(50)) continue;
          dims[at] /= factor;
          dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at) + Below(2), factor);
          break;
        }
      }
    }
    (void)ReshapeTo(x, dims);
  }

  TensorId ReshapeTo(TensorId x, const std::vector<int32_t>& dims) {
    ReshapeAttributes attributes;
    if (dims.size() > kMaxRank) return kNone;
    attributes.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), attributes.dims);
    return Add(OpKind::kReshape, {x}, attributes);
  }

  void AddTranspose(TensorId x) {
    if (x == kNone) return;
    TransposeAttributes attributes;
    attributes.rank = ShapeOf(x).rank;
    for (int i = 0; i < attributes.rank; ++i) attributes.permutation[i] = i;
    if (attributes.rank == 4 && Chance(50)) {
      const int32_t to_last[] = {0, 2, 3, 1};
      const int32_t from_last[] = {0, 3, 1, 2};
      std::copy_n(Chance(50) ? to_last : from_last, 4, attributes.permutation);
    } else {
      for (int i = attributes.rank - 1; i > 0; --i) {
        std::swap(attributes.permutation[i], attributes.permutation[Below(i + 1)]);
      }
    }
    (void)Add(OpKind::kTranspose, {x}, attributes);
  }

  /// Channel shuffle: reshape, transpose, reshape.
  void AddShuffle() {
    const TensorId x = Image();
    if (x == kNone || ShapeOf(x)[1] % 2 != 0) return;
    const Shape shape = ShapeOf(x);
    const TensorId apart = ReshapeTo(x, {shape[0], 2, shape[1] / 2, shape[2], shape[3]});
    TransposeAttributes attributes{5, {0, 2, 1, 3, 4}};
    const TensorId swapped = Add(OpKind::kTranspose, {apart}, attributes);
    if (swapped != kNone) (void)ReshapeTo(swapped, {shape[0], shape[1], shape[2], shape[3]});
  }

  void AddPad() {
    const TensorId x = Any();
    if (x == kNone) return;
    PadAttributes attributes;
    attributes.rank = ShapeOf(x).rank;
    attributes.mode = static_cast<PadMode>(Chance(60) ? 0 : Below(kPadModeCount));
    for (int i = 0; i < attributes.rank; ++i) {
      if (attributes.rank == 4 && i < 2 && Chance(80)) continue;
      if (Chance(50)) attributes.begins[i] = Between(-1, 2);
      if (Chance(50)) attributes.ends[i] = Between(0, 2);
    }
    (void)Add(OpKind::kPad, {x}, attributes);
  }

  void AddMatMul() {
    const TensorId a = Pick(
        [](const Tensor& tensor) { return tensor.dtype == DType::kF32 && tensor.shape.rank >= 2; });
    if (a == kNone) return;
    const Shape shape = ShapeOf(a);
    MatMulAttributes attributes;
    attributes.transpose_a = Chance(20) ? 1 : 0;
    const int32_t depth = shape[shape.rank - 1 - attributes.transpose_a];
    TensorId b = kNone;
    if (Chance(30)) {
      b = SameTypeAs(a);
      attributes.transpose_b = 1 - attributes.transpose_a;
    } else {
      attributes.transpose_b = Chance(40) ? 1 : 0;
      const int32_t columns = Between(1, 5);
      const Shape w =
          attributes.transpose_b != 0 ? Shape({columns, depth}) : Shape({depth, columns});
      b = Constant(DType::kF32, w, 1 / std::sqrt(static_cast<double>(depth)));
    }
    if (Chance(25)) attributes.activation = RandomActivation();
    const TensorId y = Add(OpKind::kMatMul, {a, b}, attributes);
    if (y == kNone || !Chance(40)) return;
    const int32_t columns = ShapeOf(y)[ShapeOf(y).rank - 1];
    const TensorId sum =
        Add(OpKind::kBinary, {y, Constant(DType::kF32, Shape({columns}))}, BinaryAttributes{});
    if (Chance(50)) AddUnary(sum);
  }

  void AddExpandOrGather() {
    const TensorId x = Any();
    if (x == kNone) return;
    const Shape shape = ShapeOf(x);
    if (Chance(50)) {
      ExpandAttributes attributes;
      attributes.rank = shape.rank;
      for (int i = 0; i < shape.rank; ++i) {
        attributes.dims[i] = shape[i] == 1 && Chance(60) ? Between(2, 3) : shape[i];
      }
      (void)Add(OpKind::kExpand, {x}, attributes);
      return;
    }
    if (shape.rank == 0) return;
    const int axis = Below(shape.rank);
    if (shape[axis] == 0) return;
    std::vector<int32_t> indices(static_cast<size_t>(Between(1, 3)));
    for (int32_t& index : indices) index = Below(shape[axis]) - (Chance(30) ? shape[axis] : 0);
    const Shape list({static_cast<int32_t>(indices.size())});
    const bool scalar = indices.size() == 1 && Chance(50);
    const TensorId constant =
        graph_.AddConstantOf("indices", DType::kI32, scalar ? Shape() : list, indices);
    (void)Add(OpKind::kGather, {x, constant}, GatherAttributes{axis});
  }

  void AddResizeOrLrn() {
    const TensorId x = Image();
    if (x == kNone) return;
    const Shape shape = ShapeOf(x);
    if (Chance(30)) {
      LrnAttributes attributes;
      attributes.size = Between(1, 5);
      attributes.alpha = 0.1F;
      (void)Add(OpKind::kLrn, {x}, attributes);
      return;
    }
    ResizeAttributes attributes;
    attributes.mode = Chance(50) ? ResizeMode::kNearest : ResizeMode::kLinear;
    attributes.coordinates = CoordinateMode::kAsymmetric;
    attributes.nearest = NearestMode::kFloor;
    attributes.rank = 4;
    for (int i = 0; i < 4; ++i) {
      const int factor = i < 2 ? 1 : Between(1, 2);
      attributes.sizes[i] = shape[i] * factor;
      attributes.scales[i] = static_cast<float>(factor);
    }
    (void)Add(OpKind::kResize, {x}, attributes);
  }

  void AddCastOrSelect() {
    const TensorId x = Any();
    if (x == kNone) return;
    const DType dtype = graph_.tensor(x).dtype;
    if (dtype == DType::kI32 && Chance(50)) {
      (void)Add(OpKind::kCast, {x}, CastAttributes{static_cast<int32_t>(DType::kF32)});
    } else if (dtype == DType::kI32) {
      const TensorId other = SameTypeAs(x);
      (void)Add(OpKind::kBinary, {x, other == kNone ? x : other},
                BinaryAttributes{BinaryFunction::kLess, {}});
    } else if (dtype == DType::kF32) {
      const TensorId condition = Constant(DType::kBool, ShapeOf(x));
      const TensorId other = SameTypeAs(x);
      (void)AddWith(OpKind::kSelect, {condition, x, other == kNone ? x : other}, Attributes());
    } else {
      (void)AddWith(OpKind::kCopy, {x}, Attributes());
    }
  }
};

}  // namespace

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Run();
}

}  // namespace tenon::test
