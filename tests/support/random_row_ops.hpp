// Random ops along rows of floats: reductions, softmax, normalisations, and what attention is made
// of; and elementwise steps.
#pragma once

#include <vector>

#include "tests/support/random_quantized_ops.hpp"

namespace tenon::test {

class RandomRowOps : protected RandomQuantizedOps {
 protected:
  using RandomQuantizedOps::RandomQuantizedOps;

  void AddReduceOrSoftmax() {
    const TensorId x = Float();
    if (x == kNone || ShapeOf(x).rank == 0) return;
    if (Chance(40)) {
      SoftmaxAttributes attributes;
      attributes.axis = Chance(50) ? ShapeOf(x).rank - 1 : Below(ShapeOf(x).rank);
      (void)Add(OpKind::kSoftmax, {x}, attributes);
      return;
    }
    if (Chance(45)) return AddLayerNorm(x);
    constexpr ReduceFunction kFunctions[] = {ReduceFunction::kMean, ReduceFunction::kMax,
                                             ReduceFunction::kMin};
    ReduceAttributes attributes;
    attributes.function = kFunctions[Below(3)];
    attributes.axes_mask = Below(1 << ShapeOf(x).rank);
    attributes.keep_dims = Below(2);
    (void)Add(OpKind::kReduce, {x}, attributes);
  }

  /// Several unary and binary ops one after the other, of which any later op may read one.
  void AddSteps(TensorId x) {
    if (x == kNone || graph_.tensor(x).dtype != DType::kF32) return;
    constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                             BinaryFunction::kMul, BinaryFunction::kMax};
    constexpr UnaryFunction kUnary[] = {UnaryFunction::kRelu, UnaryFunction::kTanh,
                                        UnaryFunction::kSigmoid, UnaryFunction::kAbs};
    TensorId value = x;
    const int steps = Between(2, 10);
    for (int step = 0; step < steps && value != kNone; ++step) {
      if (Chance(30)) {
        value = Add(OpKind::kUnary, {value}, UnaryAttributes{kUnary[Below(4)], 0, 0});
        continue;
      }
      Shape shape = ShapeOf(value);
      for (int i = 0; i < shape.rank; ++i) shape[i] = Chance(50) ? 1 : shape[i];
      TensorId other = Chance(70) ? Constant(DType::kF32, shape) : SameTypeAs(value);
      if (other == kNone) other = x;
      BinaryAttributes binary{kFunctions[Below(4)], {}};
      if (Chance(20)) binary.activation.function = UnaryFunction::kRelu;
      value = Chance(70) ? Add(OpKind::kBinary, {value, other}, binary)
                         : Add(OpKind::kBinary, {other, value}, binary);
    }
  }

  /// The ops that attention is made of, of which any later op may read one.
  void AddAttention() {
    const TensorId k = Pick(
        [](const Tensor& tensor) { return tensor.dtype == DType::kF32 && tensor.shape.rank >= 2; });
    if (k == kNone) return;
    const int32_t rank = ShapeOf(k).rank;
    const TensorId q = Chance(70) ? ManyRows(k) : SameTypeAs(k);
    MatMulAttributes transposed;
    transposed.transpose_b = 1;
    TensorId scores = Add(OpKind::kMatMul, {q, SameTypeAs(k)}, transposed);
    if (scores == kNone) return;
    if (Chance(60)) {
      const bool divides = Chance(50);
      const TensorId number = graph_.AddConstantOf("scale", DType::kF32, Shape(),
                                                   std::vector<float>{divides ? 4.0F : 0.3F});
      const BinaryFunction function = divides ? BinaryFunction::kDiv : BinaryFunction::kMul;
      scores = Add(OpKind::kBinary, {scores, number}, BinaryAttributes{function, {}});
    }
    if (Chance(40)) {
      Shape mask = ShapeOf(scores);
      for (int i = 0; i < rank - 1; ++i) mask[i] = Chance(50) ? 1 : mask[i];
      scores = Add(OpKind::kBinary, {scores, Constant(DType::kF32, mask)}, BinaryAttributes{});
    }
    const TensorId weights = Add(OpKind::kSoftmax, {scores}, SoftmaxAttributes{rank - 1});
    if (weights != kNone) (void)Add(OpKind::kMatMul, {weights, SameTypeAs(k)}, MatMulAttributes{});
  }

 private:
  /// So many rows of `x` that they are worth one op of their own; some come twice.
  TensorId ManyRows(TensorId x) {
    const int32_t axis = ShapeOf(x).rank - 2;
    if (ShapeOf(x)[axis] == 0) return kNone;
    std::vector<int32_t> rows(static_cast<size_t>(Between(32, 36)));
    for (int32_t& row : rows) row = Below(ShapeOf(x)[axis]);
    const Shape list({static_cast<int32_t>(rows.size())});
    const TensorId constant = graph_.AddConstantOf("rows", DType::kI32, list, rows);
    return Add(OpKind::kGather, {x, constant}, GatherAttributes{axis});
  }

  /// With an epsilon under which a row of nearly equal elements does not blow up what rounds
  /// otherwise on another backend.
  void AddLayerNorm(TensorId x) {
    const Shape row({ShapeOf(x)[ShapeOf(x).rank - 1]});
    const LayerNormAttributes attributes = {0.05F, Below(2)};
    std::vector<TensorId> inputs{x, Constant(DType::kF32, row)};
    if (Chance(50)) inputs.push_back(Constant(DType::kF32, row, 0.5));
    (void)Add(OpKind::kLayerNorm, inputs, attributes);
  }
};

}  // namespace tenon::test
