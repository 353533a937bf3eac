// Splitting of ops that compute: windows, matrix products, elementwise, along an axis.
#include "runtime/ops/op_split_rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon::split {
namespace {

/// Rows or columns of a windowed op: axis 2 + `i` of its input and output.
WindowAxis ConvWindow(const OpCall& call, int i) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  return {call.Input(0).dims[2 + i], call.Input(1).dims[2 + i], attributes.strides[i],
          attributes.dilations[i],   attributes.pads[i],        attributes.pads[2 + i]};
}

WindowAxis PoolWindow(const OpCall& call, int i) {
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  return {call.Input(0).dims[2 + i], attributes.kernel[i], attributes.strides[i],
          attributes.dilations[i],   attributes.pads[i],   attributes.pads[2 + i]};
}

InputSplit WindowSplit(int32_t axis, const WindowAxis& window) {
  return {axis, static_cast<int32_t>(window.stride), 1, static_cast<int32_t>(window.pad_begin),
          static_cast<int32_t>(window.EffectiveKernel())};
}

/// Where the last window begins, from the first element of the input.
int64_t LastStart(const WindowAxis& window, int32_t outputs) {
  return (int64_t{outputs} - 1) * window.stride - window.pad_begin;
}

/// True if every window lies over an element of the input, taps or not: a part always has input.
bool EveryWindowHasInput(const WindowAxis& window, int32_t outputs) {
  return window.pad_begin < window.EffectiveKernel() && LastStart(window, outputs) < window.input;
}

/// Sets the pads of axis 2 + `i` to what `out` needs outside the input.
void SetPads(const InputSplit& split, const IndexRange& out, int32_t input_size, int i,
             int32_t* pads) {
  const NeededRange needed = Needed(split, out);
  const IndexRange range = InputRange(split, out, input_size);
  pads[i] = static_cast<int32_t>(range.begin - needed.begin);
  pads[2 + i] = static_cast<int32_t>(needed.end - range.end);
}

}  // namespace

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
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Broadcast(call, i, axis);
  return true;
}

bool ConvSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Whole();
  if (call.HasInput(3)) inputs[3] = Along(axis);
  if (axis == 0) {
    inputs[0] = Along(0);
    return true;
  }
  if (axis == 1) {
    const TensorView& w = call.Input(1);
    const int32_t group = call.AttributesAs<ConvAttributes>().group;
    if (group > 1) {
      *granularity = w.dims[0] / group;
      inputs[0] = InGroups(1, w.dims[1], *granularity);
      if (call.HasInput(5)) inputs[5] = InGroups(0, w.dims[1], *granularity);
    }
    inputs[1] = Along(0);
    if (call.HasInput(2)) inputs[2] = Along(0);
    if (call.HasInput(4)) inputs[4] = Along(0);
    return true;
  }
  const WindowAxis window = ConvWindow(call, axis - 2);
  if (!EveryWindowHasInput(window, call.Output().dims[axis])) return false;
  inputs[0] = WindowSplit(axis, window);
  return true;
}

void ConvPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<ConvAttributes*>(attributes);
  if (axis == 1 && part.group > 1) {
    part.group = out.size() / (call.Input(1).dims[0] / part.group);
  }
  if (axis < 2) return;
  SetPads(WindowSplit(axis, ConvWindow(call, axis - 2)), out, call.Input(0).dims[axis], axis - 2,
          part.pads);
}

int32_t MatMulAxis(const OpCall& call, SplitDimension dimension) {
  const int32_t rank = call.Output().rank;
  switch (dimension) {
    case SplitDimension::kBatch:
      return 0;  // of a plain product: the rows, one per image
    case SplitDimension::kChannel:
      return rank - 1;
    case SplitDimension::kHeight:
      return rank >= 3 ? rank - 2 : -1;
    case SplitDimension::kOther:
      return rank >= 4 ? 1 : -1;
    case SplitDimension::kWidth:
      break;
  }
  return -1;
}

bool MatMulSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Broadcast(call, i, axis);
  // The two matrix axes of the operands are not the output's.
  const int32_t rank = call.Output().rank;
  if (axis == rank - 1) {
    inputs[0] = Whole();
    inputs[1] = Along(call.Input(1).rank - 1 - attributes.transpose_b);
  } else if (axis == rank - 2) {
    inputs[0] = Along(call.Input(0).rank - 2 + attributes.transpose_a);
    inputs[1] = Whole();
  }
  return true;
}

bool PoolSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[0] = Along(axis);
  if (axis < 2) return true;
  const WindowAxis window = PoolWindow(call, axis - 2);
  const int64_t extent = window.EffectiveKernel();
  const int32_t outputs = call.Output().dims[axis];
  // The shape rule wants a dilation that cannot jump over a padded input, also of a small part.
  if (window.pad_begin > 0 && extent - window.pad_begin < window.dilation) return false;
  // The part's padding must be explicit, but what lies past the whole op's padding never counts.
  const int64_t overhang = LastStart(window, outputs) + extent - window.input - window.pad_end;
  if (call.AttributesAs<PoolAttributes>().count_include_pad != 0 && overhang > 0) return false;
  inputs[0] = WindowSplit(axis, window);
  return true;
}

// The windows of a part fit its padded input exactly, so that ceil_mode says nothing of this axis.
void PoolPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  if (axis < 2) return;
  SetPads(WindowSplit(axis, PoolWindow(call, axis - 2)), out, call.Input(0).dims[axis], axis - 2,
          static_cast<PoolAttributes*>(attributes)->pads);
}

// A part of one element between two reduced axes may be summed up in another order than the whole.
bool ReduceSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  int32_t out_axis = 0;
  for (int32_t i = 0; i < call.Input(0).rank; ++i) {
    const bool reduced = ((attributes.axes_mask >> i) & 1) != 0;
    if (reduced && attributes.keep_dims == 0) continue;
    if (out_axis == axis) {
      inputs[0] = Along(i);
      return !reduced;
    }
    ++out_axis;
  }
  return false;
}

bool SoftmaxSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != call.AttributesAs<SoftmaxAttributes>().axis &&
         BroadcastSplit(call, axis, inputs, granularity);
}

bool LrnSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != 1 && BroadcastSplit(call, axis, inputs, granularity);
}

bool ConcatSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Along(axis);
  return axis != call.AttributesAs<ConcatAttributes>().axis;
}

}  // namespace tenon::split
