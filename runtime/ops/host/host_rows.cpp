// What the host rows are made of.
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

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

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

int64_t FunctionCost(UnaryFunction function) {
  switch (function) {
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) \
  case UnaryFunction::k##Kind:                                                   \
    return elementary_ops;
#include "runtime/ops/functions.inc"
  }
  return kActivationCost;
}

int64_t FusedCost(const Activation& activation) {
  return activation.function == UnaryFunction::kIdentity ? 0 : FunctionCost(activation.function);
}

OpWork PerOutputWork(const OpCall& call, int64_t per_element) {
  OpWork work = MoveAll(call);
  work.elementary_ops = call.Output().Elements() * per_element;
  return work;
}

OpWork MoveWork(const OpCall& call) { return PerOutputWork(call, kPlainCost); }

OpWork SelectedWork(const OpCall& call) {
  OpWork work = MoveWork(call);
  const int64_t whole = Bytes(call.Input(0));
  if (work.bytes_written < whole) work.bytes_read -= whole - work.bytes_written;
  return work;
}

OpWork PerInputWork(const OpCall& call) {
  OpWork work = MoveAll(call);
  work.elementary_ops = call.Input(0).Elements() * kPlainCost;
  return work;
}

OpWork GemmWork(const OpCall& call, int64_t multiply_accumulates, int64_t per_element) {
  OpWork work = PerOutputWork(call, per_element);
  work.multiply_accumulates = multiply_accumulates;
  return work;
}

InputSplit BroadcastInput(const OpCall& call, int input, int32_t axis) {
  if (!call.HasInput(input)) return Whole();
  const TensorView& x = call.Input(input);
  const int32_t own_axis = axis - (call.Output().rank - x.rank);
  return own_axis < 0 || x.dims[own_axis] == 1 ? Whole() : Along(own_axis);
}

InputSplit OneOrEach(const OpCall& call, int input) {
  return call.HasInput(input) && call.Input(input).dims[0] != 1 ? Along(0) : Whole();
}

NeededRange Needed(const InputSplit& split, const IndexRange& out) {
  const int64_t first = FloorDivide(int64_t{out.begin} * split.stride, split.divisor);
  const int64_t last = FloorDivide((int64_t{out.end} - 1) * split.stride, split.divisor);
  return {first - split.before, last - split.before + split.extent};
}

IndexRange InputRange(const InputSplit& split, const IndexRange& out, int32_t input_size) {
  if (split.axis < 0) return {0, input_size};
  if (input_size == 0) return {0, 0};
  const NeededRange needed = Needed(split, out);
  const auto clip = [](int64_t value, int64_t low, int64_t high) {
    return static_cast<int32_t>(value < low ? low : (value > high ? high : value));
  };
  const int32_t begin = clip(needed.begin, 0, input_size - 1);
  return {begin, clip(needed.end, begin + 1, input_size)};
}

int32_t ImageAxis(const OpCall& call, SplitDimension dimension) {
  const int32_t rank = call.Output().rank;
  switch (dimension) {
    case SplitDimension::kBatch:
      return rank >= 1 ? 0 : -1;
    case SplitDimension::kChannel:
      return rank >= 2 ? 1 : -1;
    case SplitDimension::kHeight:
      return rank >= 4 ? rank - 2 : -1;
    case SplitDimension::kWidth:
      return rank >= 3 ? rank - 1 : -1;
    case SplitDimension::kOther:
      break;
  }
  return rank >= 5 ? 2 : -1;
}

bool BroadcastSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = BroadcastInput(call, i, axis);
  return true;
}

OpCall FactorsOnly(const OpCall& call, InputSplit* inputs) {
  OpCall factors = call;  // the inputs behind them mean something else in the float GEMM
  factors.input_ids = {call.input_ids.data(), GemmInput::kBias};
  for (int i = GemmInput::kBias; i < call.InputCount(); ++i) inputs[i] = Whole();
  return factors;
}

void SplitGemmChannels(const OpCall& call, InputSplit* inputs) {
  using In = QuantizedGemmInput;
  for (const int input :
       {In::kBias, In::kMultiplier, In::kShift, In::kWeightsZeroPoint, In::kFoldedBias}) {
    if (input < call.InputCount()) inputs[input] = OneOrEach(call, input);
  }
}

const char* Name(SplitDimension dimension) {
  switch (dimension) {
    case SplitDimension::kBatch:
      return "batch";
    case SplitDimension::kChannel:
      return "channel";
    case SplitDimension::kHeight:
      return "height";
    case SplitDimension::kWidth:
      return "width";
    case SplitDimension::kOther:
      return "other";
  }
  return "";
}

}  // namespace tenon
