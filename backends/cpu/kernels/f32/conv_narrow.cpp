// Computes convolutions of few outputs, as last layers are.
//
// With channels last, what an output reads of one row of its window follows each other in memory,
// so that vectors run along the depth: register tiles, which hold outputs in their lanes, would
// leave most of these empty. Nothing is copied or padded: windows end where the image does.
#include <cstddef>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/epilogue.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = ConvInput;
/// Is the number of neighbouring pixels of an item of work, whose outputs are finished while they
/// are in the first-level cache.
constexpr int kItemPixels = 64;

/// What `load` makes, in one block.
struct NarrowWeights {
  const Routines* routines;
  size_t bytes;
  float* weights;  ///< [outputs][kernel rows][kernel columns][channels]
  float* bias;     ///< [kNarrowBias]: see NarrowCall
};

/// Positions [begin, end): of the kernel, what a window reads along one axis.
struct Clip {
  int begin;
  int end;
};

/// Describes one execution.
struct NarrowConv {
  const NarrowWeights* packed;
  ConvGeometry geometry;
  Activation activation;
  Epilogue epilogue;
  bool dense_columns;  ///< the columns of a window follow each other
  bool dense_outputs;  ///< so do outputs and residuals of a row's pixels
  Clip whole;          ///< the columns whose windows lie inside the image
  int row_items;       ///< items of work of one row
};

/// Clips the window of output `position` along axis `i`.
Clip ClipWindow(const ConvGeometry& g, int i, int position) {
  const int64_t first = int64_t{position} * g.strides[i] - g.pads[i];
  const int64_t step = g.dilations[i];
  const int64_t before = first < 0 ? (step - 1 - first) / step : 0;
  const int64_t inside = first < g.in_extent[i] ? (g.in_extent[i] - first + step - 1) / step : 0;
  Clip clip;
  clip.end = static_cast<int>(inside < g.kernel[i] ? inside : g.kernel[i]);
  clip.begin = static_cast<int>(before < clip.end ? before : clip.end);
  return clip;
}

/// Returns the outputs along axis `i` whose windows lie inside the image.
Clip WholeWindows(const ConvGeometry& g, int i) {
  const int64_t last = int64_t{g.in_extent[i]} - 1 + g.pads[i] -
                       int64_t{g.kernel[i] - 1} * g.dilations[i];  // where the last one begins
  const int64_t begin = g.pads[i] > 0 ? (g.pads[i] - 1) / g.strides[i] + 1 : 0;
  const int64_t end = last < 0 ? 0 : last / g.strides[i] + 1;
  Clip whole;
  whole.end = static_cast<int>(end < g.out_extent[i] ? end : g.out_extent[i]);
  whole.begin = static_cast<int>(begin < whole.end ? begin : whole.end);
  return whole;
}

NarrowWeights* LayOut(BlockLayout& block, const ConvGeometry& g) {
  const auto weights = static_cast<size_t>(int64_t{g.outputs} * g.Taps() * g.inputs);
  auto* packed = block.Take<NarrowWeights>(1);
  auto* values = block.Take<float>(weights);
  auto* bias = block.Take<float>(kNarrowBias);
  if (packed == nullptr) return nullptr;
  packed->weights = values;
  packed->bias = bias;
  return packed;
}

void Pack(const OpCall& op, const ConvGeometry& g, const NarrowWeights& packed) {
  const TensorView& w = op.Input(In::kWeights);
  const portable::StoredWeights stored =
      portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale);
  float* to = packed.weights;
  for (int64_t m = 0; m < g.outputs; ++m) {
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < g.kernel[1]; ++kw) {
        const int64_t first = m * w.strides[0] + kh * w.strides[2] + kw * w.strides[3];
        stored.Read(first, w.strides[1], g.inputs, m, to, 1);
        to += g.inputs;
      }
    }
  }
  if (!op.HasInput(In::kBias)) return;
  const auto* bias = op.Input(In::kBias).As<const float>();
  for (int i = 0; i < kNarrowBias; ++i) packed.bias[i] = bias[i % g.outputs];
}

/// Makes one row of all pixels where each reads but its own input, at even distances.
void JoinRows(const OpCall& op, ConvGeometry& g) {
  int64_t x_step = 0;
  int64_t y_step = 0;
  int64_t residual_step = 0;
  if (!IsPointwise(g) || g.Pixels() > INT32_MAX) return;
  if (!HasEvenPixels(op.Input(In::kX), &x_step) || !HasEvenPixels(op.Output(), &y_step)) return;
  if (op.HasInput(In::kResidual) && !HasEvenPixels(op.Input(In::kResidual), &residual_step)) {
    return;
  }
  g.out_extent[1] = static_cast<int>(g.Pixels());
  g.in_extent[1] = g.out_extent[1];
  g.out_extent[0] = g.in_extent[0] = g.images = 1;
  g.x.pixel = x_step;
  g.y.pixel = y_step;
  g.residual.pixel = residual_step;
}

NarrowConv MakeNarrowConv(const KernelCall& call) {
  const OpCall& op = call.op;
  NarrowConv conv;
  conv.packed = static_cast<const NarrowWeights*>(call.state);
  conv.geometry = GeometryOf(op);
  conv.activation = op.AttributesAs<ConvAttributes>().activation;
  conv.epilogue = MakeEpilogue(conv.activation);
  ConvGeometry& g = conv.geometry;
  JoinRows(op, g);
  conv.dense_columns = g.x.pixel == g.inputs && g.dilations[1] == 1;
  conv.dense_outputs =
      g.out_extent[1] == 1 ||
      (g.y.pixel == g.outputs && (!op.HasInput(In::kResidual) || g.residual.pixel == g.outputs));
  conv.whole = WholeWindows(g, 1);
  conv.row_items = (g.out_extent[1] + kItemPixels - 1) / kItemPixels;
  return conv;
}

/// One row of outputs, and what it reads of its windows' rows.
struct Row {
  const float* x;  ///< the image
  int64_t top;     ///< the first row of the window
  Clip rows;
};

/// Computes call.pixels pixels from `column` on, whose windows are clipped to `columns`.
void RunWindows(const NarrowConv& conv, const Row& row, int column, const Clip& columns,
                NarrowCall& call) {
  const ConvGeometry& g = conv.geometry;
  const int count = columns.end - columns.begin;
  const int64_t left = int64_t{column} * g.strides[1] - g.pads[1];
  call.rows = count == 0 ? 0 : row.rows.end - row.rows.begin;
  call.columns = conv.dense_columns ? 1 : count;
  call.length = conv.dense_columns ? count * g.inputs : g.inputs;
  if (call.rows > 0) {
    call.x = row.x + (row.top + int64_t{row.rows.begin} * g.dilations[0]) * g.x.row +
             (left + int64_t{columns.begin} * g.dilations[1]) * g.x.pixel;
    call.weights =
        conv.packed->weights + (int64_t{row.rows.begin} * g.kernel[1] + columns.begin) * g.inputs;
  } else {
    call.x = row.x;
    call.weights = conv.packed->weights;
  }
  conv.packed->routines->narrow(call);
}

/// Computes pixels [first, end) of a row. `call` points at their outputs and residuals, which
/// follow each other.
void RunPixels(const NarrowConv& conv, const Row& row, int first, int end, NarrowCall& call) {
  const ConvGeometry& g = conv.geometry;
  while (first < end) {
    const bool is_whole = first >= conv.whole.begin && first < conv.whole.end;
    const int whole = (end < conv.whole.end ? end : conv.whole.end) - first;
    call.pixels = is_whole ? whole : 1;
    const Clip columns = is_whole ? Clip{0, g.kernel[1]} : ClipWindow(g, 1, first);
    RunWindows(conv, row, first, columns, call);
    const int outputs = call.pixels * g.outputs;
    call.y += outputs;
    if (call.residual != nullptr) call.residual += outputs;
    first += call.pixels;
  }
}

void ActivateOutputs(const NarrowConv& conv, float* y, int count) {
  if (conv.epilogue.is_clamp) return;
  Activate(*conv.packed->routines, conv.activation, y, count, 1, count);
}

struct Outputs {
  float* y;
  const float* residual;  ///< may be null
};

/// Computes pixels [first, end) of a row whose outputs lie apart in a buffer, and stores each.
void RunApart(const NarrowConv& conv, const Row& row, int first, int end, const Outputs& to,
              NarrowCall call) {
  const ConvGeometry& g = conv.geometry;
  float y[kItemPixels * kMostNarrowOutputs];
  float residual[kItemPixels * kMostNarrowOutputs];
  const int pixels = end - first;
  for (int i = 0; to.residual != nullptr && i < pixels; ++i) {
    for (int m = 0; m < g.outputs; ++m) {
      residual[i * g.outputs + m] = to.residual[i * g.residual.pixel + m * g.residual.channel];
    }
  }
  call.residual = to.residual != nullptr ? residual : nullptr;
  call.y = y;
  RunPixels(conv, row, first, end, call);
  ActivateOutputs(conv, y, pixels * g.outputs);
  for (int i = 0; i < pixels; ++i) {
    for (int m = 0; m < g.outputs; ++m) {
      to.y[i * g.y.pixel + m * g.y.channel] = y[i * g.outputs + m];
    }
  }
}

/// Returns a call with what all of them have in common.
NarrowCall StartCalls(const NarrowConv& conv) {
  const ConvGeometry& g = conv.geometry;
  NarrowCall call = {};
  call.bias = conv.packed->bias;
  call.row_step = int64_t{g.dilations[0]} * g.x.row;
  call.column_step = int64_t{g.dilations[1]} * g.x.pixel;
  call.x_step = int64_t{g.strides[1]} * g.x.pixel;
  call.weight_column_step = g.inputs;
  call.weight_row_step = int64_t{g.kernel[1]} * g.inputs;
  call.output_step = call.weight_row_step * g.kernel[0];
  call.outputs = g.outputs;
  call.low = conv.epilogue.low;
  call.high = conv.epilogue.high;
  return call;
}

void RunItem(const NarrowConv& conv, const OpCall& op, int item, NarrowCall& call) {
  const ConvGeometry& g = conv.geometry;
  const int first = item % conv.row_items * kItemPixels;
  const int end = first + kItemPixels < g.out_extent[1] ? first + kItemPixels : g.out_extent[1];
  const int64_t row = item / conv.row_items % g.out_extent[0];
  const int64_t image = item / conv.row_items / g.out_extent[0];
  Row from;
  from.x = op.Input(In::kX).As<const float>() + image * g.x.image;
  from.top = row * g.strides[0] - g.pads[0];
  from.rows = ClipWindow(g, 0, static_cast<int>(row));
  const auto place = [&](const ImageStrides& strides) {
    return image * strides.image + row * strides.row + first * strides.pixel;
  };
  Outputs to;
  to.y = op.Output().As<float>() + place(g.y);
  to.residual = op.HasInput(In::kResidual)
                    ? op.Input(In::kResidual).As<const float>() + place(g.residual)
                    : nullptr;
  if (!conv.dense_outputs) return RunApart(conv, from, first, end, to, call);
  call.y = to.y;
  call.residual = to.residual;
  RunPixels(conv, from, first, end, call);
  ActivateOutputs(conv, to.y, (end - first) * g.outputs);
}

}  // namespace

Status NarrowConvCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(NarrowConvSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckDenseChannels(setup.op));
  return CheckConvConstants(setup.op);
}

Status NarrowConvLoad(const KernelSetup& setup, void** shared) {
  const ConvGeometry geometry = GeometryOf(setup.op);
  BlockLayout sizes(nullptr);
  LayOut(sizes, geometry);
  void* memory = AllocateBlock(sizes.bytes());
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(sizes.bytes()));
  BlockLayout block(memory);
  NarrowWeights& packed = *LayOut(block, geometry);
  packed.routines = &ChosenRoutines();
  packed.bytes = sizes.bytes();
  Pack(setup.op, geometry, packed);
  *shared = &packed;
  return OkStatus();
}

Status NarrowConvRun(const KernelCall& call) {
  const NarrowConv conv = MakeNarrowConv(call);
  const ConvGeometry& g = conv.geometry;
  const int items = g.images * g.out_extent[0] * conv.row_items;
  ParallelFor(g.Work() < kSmallWork ? nullptr : call.parallel, items, [&](int begin, int end) {
    NarrowCall narrow = StartCalls(conv);
    for (int item = begin; item < end; ++item) RunItem(conv, call.op, item, narrow);
  });
  return OkStatus();
}

size_t NarrowConvBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const NarrowWeights*>(shared)->bytes;
}

}  // namespace tenon::cpu::f32
