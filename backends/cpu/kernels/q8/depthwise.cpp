// Quantized depthwise convolution: each item of work is one output row of one block of channels.
#include <cstddef>

#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/q8/depthwise_weights.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

constexpr int64_t kSmallWork = 30'000;

/// Describes one spatial dimension of the windows.
struct Axis {
  int64_t input;
  int64_t stride;
  int64_t dilation;
  int64_t pad;
  int kernel;
};

/// Describes one execution.
struct Depthwise {
  const DepthwiseWeights* weights;
  Axis rows;
  Axis columns;
  const TensorView* x;
  const TensorView* y;
  ByteOutput output;
  uint8_t x_flip;
  bool fixed_point;
};

Axis AxisOf(const OpCall& op, int i) {
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  Axis axis;
  axis.input = op.Input(In::kX).dims[2 + i];
  axis.stride = attributes.strides[i];
  axis.dilation = attributes.dilations[i];
  axis.pad = attributes.pads[i];
  axis.kernel = op.Input(In::kWeights).dims[2 + i];
  return axis;
}

/// What each tap reads of one output row's windows, for the block of channels from `first` on.
/// Where rows stand in pairs, one with no partner may double their number.
struct RowTaps {
  DepthwiseTap taps[kMostDepthwiseTaps + 4 + kMostPairedColumns];
  int count = 0;
  int row = -1;  ///< of all images; -1: of none yet
  int first = 0;
};

/// Of the window's rows from input row `top` on. `image` points at the block.
void FillTaps(const Depthwise& state, const uint8_t* image, const uint8_t* padding, int64_t top,
              DepthwiseTap* taps, int count) {
  const Axis rows = state.rows;
  const int64_t dilation = state.columns.dilation;
  const int of_row = state.weights->is_column ? 1 : state.columns.kernel;
  const int64_t step = state.x->strides[3];
  const int64_t next_row = state.x->strides[2];
  int64_t h = top;
  for (int i = 0, row = 0; i < count; ++row, h += rows.dilation) {
    const bool inside = row < rows.kernel && h >= 0 && h < rows.input;
    const uint8_t* from = inside ? image + h * next_row : padding;
    const int end = i + of_row < count ? i + of_row : count;
    for (int64_t column = 0; i < end; ++i, column += dilation) {
      taps[i] = {from, inside ? step : 0, column};
    }
  }
}

/// Does likewise where groups are two rows of a column.
void FillPairs(const Depthwise& state, const uint8_t* image, const uint8_t* padding, int64_t top,
               DepthwiseTap* taps) {
  const Axis rows = state.rows;
  const int columns = state.columns.kernel;
  for (int row = 0; row < rows.kernel + rows.kernel % 2; ++row) {
    const int64_t h = top + row * rows.dilation;
    const bool inside = row < rows.kernel && h >= 0 && h < rows.input;
    const uint8_t* from = inside ? image + h * state.x->strides[2] : padding;
    DepthwiseTap* to = taps + row / 2 * 2 * columns + row % 2;
    for (int column = 0; column < columns; ++column) {
      to[2 * column] = {from, inside ? state.x->strides[3] : 0, column};
    }
  }
}

/// Other blocks of a row read the same places, some channels further.
void MoveTaps(RowTaps& row, int first) {
  for (int i = 0; i < row.count; ++i) row.taps[i].row += first - row.first;
  row.first = first;
}

void SetTaps(const Depthwise& state, int row, int first, RowTaps& taps) {
  const DepthwiseWeights& weights = *state.weights;
  if (row == taps.row) return MoveTaps(taps, first);
  const int rows = state.y->dims[2];
  const int group = weights.routines->depthwise_form.group;
  taps.row = row;
  taps.first = first;
  taps.count = weights.is_column ? group : weights.groups * group;
  const int64_t top = row % rows * state.rows.stride - state.rows.pad;
  const uint8_t* image =
      state.x->As<const uint8_t>() + row / rows * int64_t{state.x->strides[0]} + first;
  const uint8_t* padding = weights.padding + first;
  if (weights.window_columns != 0) return FillPairs(state, image, padding, top, taps.taps);
  FillTaps(state, image, padding, top, taps.taps, taps.count);
}

/// Sets what the calls for a block have in common, wherever it reads and writes.
void SetBlock(const Depthwise& state, const ChannelBlock& block, DepthwiseCall& call) {
  const DepthwiseWeights& weights = *state.weights;
  const DepthwiseForm& form = weights.routines->depthwise_form;
  call.common = block.Common(form);
  call.padding = weights.padding + block.first - call.common;
  call.columns_of_window = weights.window_columns;
  call.weights =
      weights.weights + int64_t{block.first} * weights.groups * form.group * (form.is_byte ? 1 : 2);
  call.bias = weights.bias + block.first;
  call.multiplier = weights.multiplier + block.first;
  call.doubling = weights.doubling + block.first;
  call.half = weights.half + block.first;
  call.right = weights.right + block.first;
  call.away = weights.away + block.first;
  call.groups = weights.groups;
  call.block = block.width;
  call.channels = block.channels;
  call.is_column = weights.is_column;
  call.fixed_point = state.fixed_point;
  call.x_flip = state.x_flip;
  call.output = state.output;
}

void RunRow(const Depthwise& state, int64_t image, int row, int begin, int end, RowTaps& taps) {
  const TensorView& y = *state.y;
  uint8_t* to = y.As<uint8_t>() + image * y.strides[0] + int64_t{row} * y.strides[2];
  DepthwiseCall call;
  call.taps = taps.taps;
  call.y_step = y.strides[3];
  call.columns = state.columns.input;
  call.first = -state.columns.pad;
  call.stride = state.columns.stride;
  call.pixels = y.dims[3];
  for (int index = begin; index < end; ++index) {
    const ChannelBlock block = state.weights->BlockAt(index);
    SetBlock(state, block, call);
    const int first = block.first - call.common;
    SetTaps(state, static_cast<int>(image * y.dims[2]) + row, first, taps);
    call.y = to + first;
    state.weights->routines->depthwise(call);
  }
}

/// Runs items of work: each is a block of channels of a row of outputs.
void RunItems(const Depthwise& state, int begin, int end) {
  const int blocks = state.weights->blocks;
  const int rows = state.y->dims[2];
  RowTaps taps;
  for (int item = begin; item < end;) {
    const int of_all = item / blocks;
    const int block = item % blocks;
    const int left = end - item;
    const int count = left < blocks - block ? left : blocks - block;
    RunRow(state, of_all / rows, of_all % rows, block, block + count, taps);
    item += count;
  }
}

/// Returns true if each image has one window, which lies inside it and has evenly spaced taps.
/// `step` becomes the bytes from tap to tap.
bool IsWindow(const Depthwise& state, int64_t* step) {
  const Axis& rows = state.rows;
  const Axis& columns = state.columns;
  if (state.weights->routines->depthwise_window == nullptr || state.weights->window_columns != 0 ||
      state.y->dims[2] != 1 || state.y->dims[3] != 1 || rows.pad != 0 || columns.pad != 0 ||
      (rows.kernel - 1) * rows.dilation >= rows.input ||
      (columns.kernel - 1) * columns.dilation >= columns.input) {
    return false;
  }
  const int64_t row_step = rows.dilation * state.x->strides[2];
  const int64_t column_step = columns.dilation * state.x->strides[3];
  *step = columns.kernel == 1 ? row_step : column_step;
  return rows.kernel == 1 || columns.kernel == 1 || row_step == column_step * columns.kernel;
}

void RunWindows(const Depthwise& state, int64_t step) {
  const DepthwiseWeights& weights = *state.weights;
  DepthwiseCall call;
  call.window_step = step;
  call.window_taps = state.rows.kernel * state.columns.kernel;
  for (int first = 0; first < weights.channels;) {
    const ChannelBlock block =
        MakeChannelBlock(first, weights.channels, weights.routines->depthwise_form.widest);
    SetBlock(state, block, call);
    const int from = first - call.common;
    for (int64_t image = 0; image < state.y->dims[0]; ++image) {
      call.window = state.x->As<const uint8_t>() + image * state.x->strides[0] + from;
      call.y = state.y->As<uint8_t>() + image * state.y->strides[0] + from;
      weights.routines->depthwise_window(call);
    }
    first += block.width;
  }
}

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(DepthwiseSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status DepthwiseRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedConvAttributes>();
  Depthwise state;
  state.weights = static_cast<const DepthwiseWeights*>(call.state);
  state.rows = AxisOf(call.op, 0);
  state.columns = AxisOf(call.op, 1);
  state.x = &call.op.Input(In::kX);
  state.y = &call.op.Output();
  state.output = ByteOutputOf(attributes.output);
  state.x_flip = FlipToU8(state.x->dtype);
  state.fixed_point = attributes.output.rounding == Rounding::kFixedPoint;
  const int64_t work = state.y->Elements() * state.rows.kernel * state.columns.kernel;
  int64_t step = 0;
  if (work < kSmallWork && IsWindow(state, &step)) {
    RunWindows(state, step);
    return OkStatus();
  }
  ParallelFor(work < kSmallWork ? nullptr : call.parallel,
              state.y->dims[0] * state.y->dims[2] * state.weights->blocks,
              [&](int begin, int end) { RunItems(state, begin, end); });
  return OkStatus();
}

}  // namespace tenon::cpu::q8
