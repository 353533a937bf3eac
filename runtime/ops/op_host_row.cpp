#include "runtime/ops/op_host_row.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon {
namespace {

// Elementary ops per element, as design figures for a vector unit count them: plain arithmetic 1,
// functions that need a series or a table 4, softmax 8.
constexpr int64_t kPlainCost = 1;
constexpr int64_t kActivationCost = 4;
constexpr int64_t kSoftmaxCost = 8;

int64_t Bytes(const TensorView& tensor) { return tensor.Elements() * DTypeBytes(tensor.dtype); }

/// Work of an op that reads every operand once, two uses of one tensor being one operand.
OpWork MoveAll(const OpCall& call) {
  OpWork work;
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    bool counted = false;
    for (int j = 0; j < i; ++j) {
      counted = counted ||
                call.input_ids[static_cast<size_t>(j)] == call.input_ids[static_cast<size_t>(i)];
    }
    if (!counted) work.bytes_read += Bytes(call.Input(i));
  }
  work.bytes_written = Bytes(call.Output());
  return work;
}

/// One elementary op per output element, moves too: a unit that takes an element at a time is busy
/// with each.
OpWork PerOutputWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  work.elementary_ops = call.Output().Elements() * kPlainCost;
  return work;
}

/// The same for an op that reads of input 0 only as much as it writes (slice, pad, gather).
OpWork SelectedWork(const OpCall& call) {
  OpWork work = PerOutputWork(call);
  const int64_t whole = Bytes(call.Input(0));
  if (work.bytes_written < whole) work.bytes_read -= whole - work.bytes_written;
  return work;
}

int64_t FunctionCost(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kIdentity:
    case UnaryFunction::kAbs:
    case UnaryFunction::kNeg:
    case UnaryFunction::kFloor:
    case UnaryFunction::kCeil:
    case UnaryFunction::kRound:
    case UnaryFunction::kSign:
    case UnaryFunction::kNot:
      return kPlainCost;
    default:
      return kActivationCost;
  }
}

int64_t FusedCost(const Activation& activation) {
  return activation.function == UnaryFunction::kIdentity ? 0 : FunctionCost(activation.function);
}

int64_t ConvProducts(const OpCall& call) {
  const TensorView& w = call.Input(1);
  return call.Output().Elements() * w.dims[1] * w.dims[2] * w.dims[3];
}

int64_t MatMulProducts(const OpCall& call) {
  const TensorView& a = call.Input(0);
  return call.Output().Elements() *
         a.dims[a.rank - 1 - call.AttributesAs<MatMulAttributes>().transpose_a];
}

/// Products, and on the way out `per_element` ops.
OpWork ProductWork(const OpCall& call, int64_t products, int64_t per_element) {
  OpWork work = MoveAll(call);
  work.multiply_accumulates = products;
  work.elementary_ops = call.Output().Elements() * per_element;
  return work;
}

OpWork ConvWork(const OpCall& call) {
  int64_t per_element = FusedCost(call.AttributesAs<ConvAttributes>().activation);
  if (call.HasInput(2)) per_element += kPlainCost;
  if (call.HasInput(3)) per_element += kPlainCost;
  return ProductWork(call, ConvProducts(call), per_element);
}

OpWork MatMulWork(const OpCall& call) {
  const int64_t bias_cost = call.HasInput(2) ? kPlainCost : 0;
  const int64_t activation_cost = FusedCost(call.AttributesAs<MatMulAttributes>().activation);
  return ProductWork(call, MatMulProducts(call), activation_cost + bias_cost);
}

/// Of a quantized product: the sum is rescaled.
OpWork QuantizedConvWork(const OpCall& call) {
  return ProductWork(call, ConvProducts(call), kPlainCost);
}

OpWork QuantizedMatMulWork(const OpCall& call) {
  return ProductWork(call, MatMulProducts(call), kPlainCost);
}

/// One elementary op per input element (pooling, reductions).
OpWork PerInputWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  work.elementary_ops = call.Input(0).Elements() * kPlainCost;
  return work;
}

OpWork UnaryWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  work.elementary_ops =
      call.Output().Elements() * FunctionCost(call.AttributesAs<UnaryAttributes>().function);
  return work;
}

OpWork BinaryWork(const OpCall& call) {
  const auto& attributes = call.AttributesAs<BinaryAttributes>();
  OpWork work = MoveAll(call);
  const int64_t own_cost =
      attributes.function == BinaryFunction::kPow ? kActivationCost : kPlainCost;
  work.elementary_ops = call.Output().Elements() * (own_cost + FusedCost(attributes.activation));
  return work;
}

OpWork SoftmaxWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  work.elementary_ops = call.Output().Elements() * kSoftmaxCost;
  return work;
}

/// Per element: one op for each neighbour that there is, and the power.
OpWork LrnWork(const OpCall& call) {
  const int64_t channels = call.Input(0).dims[1];
  const int64_t size = call.AttributesAs<LrnAttributes>().size;
  OpWork work = MoveAll(call);
  work.elementary_ops =
      call.Output().Elements() * ((size < channels ? size : channels) + kActivationCost);
  return work;
}

/// Per output element: one op for each tap of the interpolation in height and width.
OpWork ResizeWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  int64_t taps = 1;
  switch (call.AttributesAs<ResizeAttributes>().mode) {
    case ResizeMode::kNearest:
      taps = 1;
      break;
    case ResizeMode::kLinear:
      taps = 4;
      break;
    case ResizeMode::kCubic:
      taps = 16;
      break;
  }
  work.elementary_ops = call.Output().Elements() * taps;
  return work;
}

/// By OpKind; a test checks that each row stands at its kind's place.
constexpr OpHostRow kRows[kOpKindCount] = {
    {OpKind::kConv, ViewKind::kNone, ConvWork},
    {OpKind::kMatMul, ViewKind::kNone, MatMulWork},
    {OpKind::kMaxPool, ViewKind::kNone, PerInputWork},
    {OpKind::kAveragePool, ViewKind::kNone, PerInputWork},
    {OpKind::kUnary, ViewKind::kNone, UnaryWork},
    {OpKind::kBinary, ViewKind::kNone, BinaryWork},
    {OpKind::kSelect, ViewKind::kNone, PerOutputWork},
    {OpKind::kReduce, ViewKind::kNone, PerInputWork},
    {OpKind::kSoftmax, ViewKind::kNone, SoftmaxWork},
    {OpKind::kLrn, ViewKind::kNone, LrnWork},
    {OpKind::kConcat, ViewKind::kInputsInsideOutput, PerOutputWork},
    {OpKind::kSlice, ViewKind::kOutputInsideInput, SelectedWork},
    {OpKind::kPad, ViewKind::kNone, SelectedWork},
    {OpKind::kReshape, ViewKind::kSameElements, PerOutputWork},
    {OpKind::kTranspose, ViewKind::kSameElements, PerOutputWork},
    {OpKind::kExpand, ViewKind::kOutputInsideInput, PerOutputWork},
    {OpKind::kResize, ViewKind::kNone, ResizeWork},
    {OpKind::kGather, ViewKind::kNone, SelectedWork},
    {OpKind::kCast, ViewKind::kNone, PerOutputWork},
    {OpKind::kCopy, ViewKind::kSameElements, PerOutputWork},
    {OpKind::kQuantize, ViewKind::kNone, PerOutputWork},
    {OpKind::kDequantize, ViewKind::kNone, PerOutputWork},
    {OpKind::kLookup, ViewKind::kNone, PerOutputWork},
    {OpKind::kQuantizedConv, ViewKind::kNone, QuantizedConvWork},
    {OpKind::kQuantizedMatMul, ViewKind::kNone, QuantizedMatMulWork},
    {OpKind::kQuantizedBinary, ViewKind::kNone, PerOutputWork},
    {OpKind::kQuantizedAveragePool, ViewKind::kNone, PerInputWork},
    {OpKind::kQuantizedReduce, ViewKind::kNone, PerInputWork},
    {OpKind::kQuantizedSoftmax, ViewKind::kNone, SoftmaxWork},
};

}  // namespace

const OpHostRow& GetOpHostRow(OpKind kind) { return kRows[static_cast<size_t>(kind)]; }

}  // namespace tenon
