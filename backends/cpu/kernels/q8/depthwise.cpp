// Quantized depthwise convolution: each item of work is one output row of one block of channels, or
// a part of the row.
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
/// Of an item of work, where an image of one column is computed as a row.
constexpr int32_t kTurnedPixels = 64;

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
  int64_t x_row;  ///< bytes from row to row
  int64_t x_column;
  int64_t y_row;
  int64_t y_column;
  int32_t y_rows;
  int32_t y_columns;
  int32_t bands;  ///< of a row; each is an item of work
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

/// An image of one column, as sequences have, is computed as one of one row: each row is a call.
void TurnColumn(Depthwise& state) {
  const Axis& columns = state.columns;
  if (columns.input != 1 || columns.kernel != 1 || state.y->dims[3] != 1 || columns.pad != 0)
    return;
  const Axis rows = state.rows;
  state.rows = columns;
  state.columns = rows;
  state.x_column = state.x_row;
  state.y_column = state.y_row;
  state.y_columns = state.y_rows;
  state.y_rows = 1;
  state.bands = (state.y_columns + kTurnedPixels - 1) / kTurnedPixels;
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
  const int64_t step = state.x_column;
  const int64_t next_row = state.x_row;
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
    const uint8_t* from = inside ? image + h * state.x_row : padding;
    DepthwiseTap* to = taps + row / 2 * 2 * columns + row % 2;
    for (int column = 0; column < columns; ++column) {
      to[2 * column] = {from, inside ? state.x_column : 0, column};
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
  const int rows = state.y_rows;
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

/// Runs blocks [begin, end) of a band of a row of all images.
void RunBand(const Depthwise& state, int row, int band, int begin, int end, RowTaps& taps) {
  const int first_pixel = band * kTurnedPixels;
  const int pixels = state.y_columns - first_pixel;
  uint8_t* to = state.y->As<uint8_t>() + row / state.y_rows * int64_t{state.y->strides[0]} +
                row % state.y_rows * state.y_row + first_pixel * state.y_column;
  DepthwiseCall call;
  call.taps = taps.taps;
  call.y_step = state.y_column;
  call.columns = state.columns.input;
  call.first = first_pixel * state.columns.stride - state.columns.pad;
  call.reach = (state.columns.kernel - 1) * state.columns.dilation;
  call.row_taps = state.columns.dilation == 1 ? state.columns.kernel : 0;
  call.stride = state.columns.stride;
  call.pixels = state.bands == 1 || pixels < kTurnedPixels ? pixels : kTurnedPixels;
  for (int index = begin; index < end; ++index) {
    const ChannelBlock block = state.weights->BlockAt(index);
    SetBlock(state, block, call);
    const int first = block.first - call.common;
    SetTaps(state, row, first, taps);
    call.y = to + first;
    state.weights->routines->depthwise(call);
  }
}

/// Runs items of work: each is a block of channels of a band of a row of outputs.
void RunItems(const Depthwise& state, int begin, int end) {
  const int blocks = state.weights->blocks;
  RowTaps taps;
  for (int item = begin; item < end;) {
    const int of_all = item / blocks;
    const int block = item % blocks;
    const int left = end - item;
    const int count = left < blocks - block ? left : blocks - block;
    RunBand(state, of_all / state.bands, of_all % state.bands, block, block + count, taps);
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
  const int64_t row_step = rows.dilation * state.x_row;
  const int64_t column_step = columns.dilation * state.x_column;
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
  state.x_row = state.x->strides[2];
  state.x_column = state.x->strides[3];
  state.y_row = state.y->strides[2];
  state.y_column = state.y->strides[3];
  state.y_rows = state.y->dims[2];
  state.y_columns = state.y->dims[3];
  state.bands = 1;
  TurnColumn(state);
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
              state.y->dims[0] * state.y_rows * state.bands * state.weights->blocks,
              [&](int begin, int end) { RunItems(state, begin, end); });
  return OkStatus();
}

}  // namespace tenon::cpu::q8
