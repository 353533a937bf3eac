#include "tests/unit/converter/split/random_op.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tests/unit/converter/split/random_draws.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using converter::kNone;
using converter::TensorId;

/// One function a kind; what an op refuses is drawn again.
class Generator : public RandomDraws {
 public:
  explicit Generator(uint64_t seed) : RandomDraws(static_cast<OpKind>(seed % kOpKindCount), seed) {}

 private:
  Activation RandomActivation() {
    constexpr UnaryFunction kFunctions[] = {UnaryFunction::kIdentity, UnaryFunction::kRelu,
                                            UnaryFunction::kSigmoid, UnaryFunction::kHardSwish};
    return {kFunctions[Below(4)], 0, 0};
  }

  void Add() override {
    switch (kind_) {
      case OpKind::kConv:
        return AddConv();
      case OpKind::kMatMul:
        return AddMatMul();
      case OpKind::kMaxPool:
      case OpKind::kAveragePool:
        return AddPool();
      case OpKind::kUnary: {
        const Activation function = RandomActivation();
        return AddOp({Input(RandomShape(Between(1, 6)))}, UnaryAttributes{function.function, 0, 0});
      }
      case OpKind::kBinary: {
        const Shape shape = RandomShape(Between(1, 6));
        return AddOp({Input(Broadcasting(shape)), Input(Broadcasting(shape))},
                     BinaryAttributes{static_cast<BinaryFunction>(Below(3)), {}});
      }
      case OpKind::kElementwise: {
        const Shape shape = RandomShape(Between(1, 6));
        ElementwiseAttributes attributes;
        attributes.steps = Between(1, kMostElementwiseSteps);
        for (int step = 0; step < attributes.steps; ++step) {
          attributes.operands[step] = Between(-2, 2);
          attributes.functions[step] = static_cast<BinaryFunction>(Below(3));
          attributes.activations[step] = RandomActivation().function;
        }
        return AddOp({Input(shape), Input(Broadcasting(shape)), Input(Broadcasting(shape))},
                     attributes);
      }
      case OpKind::kDynamicMatMul: {
        const Shape a = RandomShape(Between(2, 5));
        const int32_t columns = Between(1, 9);
        const DType dtype = Below(2) == 0 ? DType::kI8 : DType::kU8;
        Shape y = a;
        y[y.rank - 1] = columns;
        std::vector<TensorId> inputs = {Input(a), Input(Shape({a[a.rank - 1], columns}), dtype),
                                        Below(2) == 0 ? kNone : Input(Broadcasting(y)),
                                        Input(Shape({Below(2) == 0 ? 1 : columns}))};
        if (Below(2) == 0) inputs.push_back(Input(Shape({Below(2) == 0 ? 1 : columns}), dtype));
        return AddOp(inputs);
      }
      case OpKind::kSelect: {
        const Shape shape = RandomShape(Between(1, 5));
        return AddOp({Input(Broadcasting(shape), DType::kBool), Input(Broadcasting(shape)),
                      Input(Broadcasting(shape))});
      }
      case OpKind::kReduce: {
        const Shape shape = RandomShape(Between(1, 5));
        return AddOp({Input(shape)}, ReduceAttributes{static_cast<ReduceFunction>(Below(10)),
                                                      Below(1 << shape.rank), Below(2)});
      }
      case OpKind::kSoftmax: {
        const Shape shape = RandomShape(Between(1, 5));
        return AddOp({Input(shape)}, SoftmaxAttributes{Below(shape.rank), Below(2)});
      }
      case OpKind::kCumSum: {
        const Shape shape = RandomShape(Between(1, 5));
        return AddOp({Input(shape)}, CumSumAttributes{Below(shape.rank), Below(2), Below(2)});
      }
      case OpKind::kLayerNorm: {
        const Shape shape = RandomShape(Between(1, 5));
        const int32_t row[] = {shape[shape.rank - 1]};
        if (Below(3) == 0) {  // of bytes
          const TensorId x = Input(shape, DType::kI8);
          return AddOp({x, Input(Shape(row, 1))}, LayerNormAttributes{1.0F, Below(2)});
        }
        const LayerNormAttributes attributes = {1e-5F, Below(2)};
        if (Below(2) == 0) return AddOp({Input(shape), Input(Shape(row, 1))}, attributes);
        return AddOp({Input(shape), Input(Shape(row, 1)), Input(Shape(row, 1))}, attributes);
      }
      case OpKind::kAttention: {
        Shape q = RandomShape(Between(2, 5));
        const int32_t last = q.rank - 1;
        const AttentionAttributes attributes = {0.5F, Below(2)};
        Shape k = q;
        Shape v = q;
        k[last - 1 + attributes.transpose_k] = v[last - 1] = Between(1, 6);
        k[last - attributes.transpose_k] = q[last];
        v[last] = Between(1, 6);
        if (Below(2) == 0) return AddOp({Input(q), Input(k), Input(v)}, attributes);
        Shape scores = q;
        scores[last] = v[last - 1];
        return AddOp({Input(q), Input(k), Input(v), Input(Broadcasting(scores))}, attributes);
      }
      case OpKind::kLrn: {
        LrnAttributes attributes;
        attributes.size = Between(1, 5);
        return AddOp({Input(RandomShape(Between(2, 5)))}, attributes);
      }
      default:
        return AddMove();
    }
  }

  void AddMove() {
    switch (kind_) {
      case OpKind::kConcat:
        return AddConcat();
      case OpKind::kSlice:
        return AddSlice();
      case OpKind::kPad:
        return AddPad();
      case OpKind::kReshape:
        return AddReshape();
      case OpKind::kTranspose:
        return AddTranspose();
      case OpKind::kExpand: {
        const Shape shape = RandomShape(Between(1, 5));
        ExpandAttributes attributes;
        attributes.rank = shape.rank;
        std::copy(shape.dims, shape.dims + shape.rank, attributes.dims);
        return AddOp({Input(Broadcasting(shape))}, attributes);
      }
      case OpKind::kResize:
        return AddResize();
      case OpKind::kGather: {
        const Shape shape = RandomShape(Between(1, 4));
        const int axis = Below(shape.rank);
        const Shape index_shape = RandomShape(Below(3), 4);
        std::vector<int64_t> indices(static_cast<size_t>(index_shape.Elements()));
        for (int64_t& index : indices) index = Between(-shape[axis], shape[axis] - 1);
        return AddOp({Input(shape), graph_.AddConstantOf("i", DType::kI64, index_shape, indices)},
                     GatherAttributes{axis});
      }
      case OpKind::kGridSample: {
        const Shape image = Image();
        return AddOp(
            {Input(image), Input(Shape({image[0], Between(1, 6), Between(1, 9), 2}))},
            GridSampleAttributes{static_cast<ResizeMode>(Below(kResizeModeCount)),
                                 static_cast<GridPadding>(Below(kGridPaddingCount)), Below(2)});
      }
      case OpKind::kTopK: {
        const Shape shape = RandomShape(Between(1, 5));
        const int axis = Below(shape.rank);
        return AddOp({Input(shape)}, TopKAttributes{axis, Between(1, shape[axis]), Below(2)});
      }
      case OpKind::kScatter:
        return AddScatter();
      case OpKind::kNonMaxSuppression:
        return AddNonMaxSuppression();
      case OpKind::kCast:
        return AddOp({Input(RandomShape(Between(1, 5)))},
                     CastAttributes{static_cast<int32_t>(DType::kI32)});
      default:
        return AddOp({Input(RandomShape(Between(1, 5)))});
    }
  }

  void AddConv() {
    Shape x = Image();
    ConvAttributes attributes;
    int32_t outputs = Between(1, 20);
    if (Chance(40)) {
      attributes.group = Between(1, 5);
      x[1] = attributes.group * Between(1, 3);
      outputs = attributes.group * Between(1, 4);
    }
    Shape w({outputs, x[1] / attributes.group, 1, 1});
    for (int i = 0; i < 2; ++i) {
      w[2 + i] = Between(1, 5);
      attributes.strides[i] = Between(1, 3);
      if (Chance(25)) attributes.dilations[i] = Between(2, 3);
      if (Chance(60)) attributes.pads[i] = Below(w[2 + i] + (Chance(10) ? 4 : 0));
      if (Chance(60)) attributes.pads[2 + i] = Below(w[2 + i] + (Chance(10) ? 4 : 0));
    }
    attributes.activation = RandomActivation();
    std::vector<TensorId> inputs{Input(x), Input(w), kNone};
    if (Chance(60)) inputs[2] = Input(Shape({outputs}));
    AddOp(inputs, attributes);
    if (graph_.OpOrder().empty() || Chance(60)) return;
    const Shape y = graph_.tensor(graph_.op(graph_.OpOrder()[0]).outputs[0]).shape;
    inputs.push_back(Input(y));
    graph_.EraseOp(graph_.OpOrder()[0]);
    AddOp(inputs, attributes);
  }

  void AddMatMul() {
    MatMulAttributes attributes{Below(2), Below(2), RandomActivation()};
    const Shape batch = RandomShape(Between(0, 2), 3);
    const int32_t sizes[3] = {Between(1, 17), Between(1, 20), Between(1, 40)};  // M, K, N
    const auto matrix = [&](int32_t rows, int32_t columns, int32_t transposed) {
      Shape shape = Chance(60) ? batch : Broadcasting(batch);
      if (transposed != 0) std::swap(rows, columns);
      shape.dims[shape.rank++] = rows;
      shape.dims[shape.rank++] = columns;
      return Input(shape);
    };
    std::vector<TensorId> inputs{matrix(sizes[0], sizes[1], attributes.transpose_a),
                                 matrix(sizes[1], sizes[2], attributes.transpose_b)};
    Shape y({sizes[0], sizes[2]});
    if (Chance(60)) inputs.push_back(Input(Broadcasting(y)));
    AddOp(inputs, attributes);
  }

  void AddPool() {
    PoolAttributes attributes;
    for (int i = 0; i < 2; ++i) {
      attributes.kernel[i] = Between(1, 5);
      attributes.strides[i] = Between(1, 3);
      if (Chance(20)) attributes.dilations[i] = 2;
      attributes.pads[i] = Chance(50) ? Below(attributes.kernel[i]) : 0;
      attributes.pads[2 + i] = Chance(50) ? Below(attributes.kernel[i]) : 0;
    }
    attributes.ceil_mode = Below(2);
    attributes.count_include_pad = Below(2);
    AddOp({Input(Image())}, attributes);
  }

  void AddConcat() {
    const Shape shape = RandomShape(Between(1, 5));
    const int axis = Below(shape.rank);
    std::vector<TensorId> inputs;
    const int count = Between(1, 4);
    for (int i = 0; i < count; ++i) {
      Shape part = shape;
      part[axis] = Between(1, 4);
      inputs.push_back(i > 0 && Chance(20) ? inputs[0] : Input(part));
    }
    AddOp(inputs, ConcatAttributes{axis});
  }

  void AddSlice() {
    const Shape shape = RandomShape(Between(1, 5), 12);
    SliceAttributes attributes;
    attributes.rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) {
      const int begin = Below(shape[i]);
      const int step = Between(1, 3);
      attributes.begins[i] = begin;
      attributes.steps[i] = Chance(10) ? -step : step;
      const int most =
          attributes.steps[i] > 0 ? (shape[i] - begin + step - 1) / step : begin / step + 1;
      attributes.sizes[i] = Between(1, most);
      if (attributes.sizes[i] == 1 && Chance(30)) attributes.steps[i] = INT32_MAX;
    }
    AddOp({Input(shape)}, attributes);
  }

  void AddPad() {
    const Shape shape = RandomShape(Between(1, 4), 9);
    PadAttributes attributes;
    attributes.mode = Chance(70) ? PadMode::kConstant : static_cast<PadMode>(Between(1, 2));
    attributes.value = 3.5F;
    attributes.rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) {
      if (Chance(30)) continue;
      attributes.begins[i] = Between(-shape[i] / 2, 6);
      attributes.ends[i] = Between(-shape[i] / 2, 6);
    }
    AddOp({Input(shape)}, attributes);
  }

  /// Factors in any grouping on both sides.
  void AddReshape() {
    std::vector<int32_t> factors(static_cast<size_t>(Between(1, 5)));
    for (int32_t& factor : factors) factor = Between(1, 4);
    const auto grouped = [&] {
      Shape shape({1});
      for (const int32_t factor : factors) {
        if (Chance(50)) {
          shape[shape.rank - 1] *= factor;
        } else {
          shape.dims[shape.rank++] = factor;
        }
      }
      if (shape[0] == 1 && shape.rank > 1 && Chance(70)) {
        std::copy(shape.dims + 1, shape.dims + shape.rank, shape.dims);
        --shape.rank;
      }
      return shape;
    };
    const Shape x = grouped();
    const Shape y = grouped();
    ReshapeAttributes attributes;
    attributes.rank = y.rank;
    std::copy(y.dims, y.dims + y.rank, attributes.dims);
    AddOp({Input(x)}, attributes);
  }

  void AddScatter() {
    const Shape shape = RandomShape(Between(1, 4));
    Shape updates = shape;
    updates[0] = Between(1, 5);
    std::vector<int64_t> indices(static_cast<size_t>(updates[0]));
    for (int64_t& index : indices) index = Below(shape[0]);
    const int32_t count[] = {updates[0]};
    AddOp({Input(shape), graph_.AddConstantOf("i", DType::kI64, Shape(count, 1), indices),
           Input(updates)},
          ScatterAttributes{static_cast<ScatterFunction>(Below(kScatterFunctionCount))});
  }

  void AddNonMaxSuppression() {
    const int32_t boxes[] = {Between(1, 2), Between(1, 9), 4};
    const int32_t scores[] = {boxes[0], Between(1, 3), boxes[1]};
    const Shape shape(scores, 3);
    std::vector<int64_t> order(static_cast<size_t>(shape.Elements()));
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int64_t>(i) % boxes[1];
    }
    AddOp(
        {Input(Shape(boxes, 3)), Input(shape),
         graph_.AddConstantOf("order", DType::kI64, shape, order)},
        NonMaxSuppressionAttributes{Between(1, 9), Between(1, 4), 0.3F, 0.1F, Below(2), Below(2)});
  }

  void AddTranspose() {
    TransposeAttributes attributes;
    const Shape shape = RandomShape(Between(1, 6));
    attributes.rank = shape.rank;
    std::iota(attributes.permutation, attributes.permutation + shape.rank, 0);
    for (int i = 0; i < shape.rank; ++i) {
      std::swap(attributes.permutation[i], attributes.permutation[Below(shape.rank)]);
    }
    AddOp({Input(shape)}, attributes);
  }

  void AddResize() {
    Shape shape = Image();
    ResizeAttributes attributes;
    attributes.mode = Chance(70) ? ResizeMode::kNearest : static_cast<ResizeMode>(Between(1, 2));
    attributes.coordinates = static_cast<CoordinateMode>(Below(4));
    attributes.nearest = static_cast<NearestMode>(Below(4));
    attributes.rank = 4;
    for (int i = 0; i < 4; ++i) {
      const int factor =
          i >= 2 || (attributes.mode == ResizeMode::kNearest && Chance(20)) ? Between(1, 5) : 1;
      attributes.sizes[i] = shape[i] * factor;
      attributes.scales[i] = static_cast<float>(factor);
      if (i >= 2 && Chance(15)) {
        attributes.sizes[i] = Between(1, 20);
        attributes.scales[i] =
            static_cast<float>(attributes.sizes[i]) / static_cast<float>(shape[i]);
      }
    }
    AddOp({Input(shape)}, attributes);
  }
};

}  // namespace

converter::Graph RandomOp(uint64_t seed) {
  const auto kind = static_cast<OpKind>(seed % kOpKindCount);
  return TraitsOf(kind).quantized ? RandomQuantizedOp(kind, seed) : Generator(seed).Run(seed);
}

}  // namespace tenon::test
