// Computes convolutions of few outputs of each group, of any layout.
//
// Register tiles contain the outputs of a pixel, which would leave most of a register empty. Here
// each contains neighbouring pixels of one output: what these read of a tap is neighbours once the
// inputs are copied to planes, with their padding (PixelBands).
#include <cstddef>
#include <cstring>

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

/// What `load` makes, in one block.
struct PixelWeights {
  const Routines* routines;
  size_t bytes;
  int width;       ///< the outputs of a group, rounded up to kPixelOutputStep
  float* weights;  ///< [groups][channels][kernel rows][kernel columns][width]
  float* bias;     ///< [groups][width]
};

/// Describes one execution.
struct PixelConv {
  const PixelWeights* packed;
  ConvGeometry geometry;
  int inputs;   ///< of a group
  int outputs;  ///< of a group
  PixelBands bands;
  Activation activation;
  Epilogue epilogue;
  int32_t offsets[kMostPixelProducts];  ///< [channels][kernel rows][kernel columns]
};

PixelWeights* LayOut(BlockLayout& block, const ConvGeometry& g, int width) {
  const int64_t products = int64_t{g.inputs} * g.Taps();  // of all groups
  auto* packed = block.Take<PixelWeights>(1);
  auto* weights = block.Take<float>(static_cast<size_t>(products * width));
  auto* bias = block.Take<float>(static_cast<size_t>(int64_t{g.convolutions} * width));
  if (packed == nullptr) return nullptr;
  packed->width = width;
  packed->weights = weights;
  packed->bias = bias;
  return packed;
}

void Pack(const OpCall& op, const ConvGeometry& g, const PixelWeights& packed) {
  const TensorView& w = op.Input(In::kWeights);
  const portable::StoredWeights stored =
      portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale);
  const int inputs = g.inputs / g.convolutions;
  const int outputs = g.outputs / g.convolutions;
  const int64_t of_channel = int64_t{g.Taps()} * packed.width;
  for (int64_t m = 0; m < g.outputs; ++m) {
    float* to = packed.weights + m / outputs * inputs * of_channel + m % outputs;
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < g.kernel[1]; ++kw) {
        const int64_t first = m * w.strides[0] + kh * w.strides[2] + kw * w.strides[3];
        stored.Read(first, w.strides[1], inputs, m, to, of_channel);
        to += packed.width;
      }
    }
  }
  if (!op.HasInput(In::kBias)) return;
  const auto* bias = op.Input(In::kBias).As<const float>();
  for (int m = 0; m < g.outputs; ++m) {
    packed.bias[m / outputs * packed.width + m % outputs] = bias[m];
  }
}

void FillOffsets(PixelConv& conv) {
  const ConvGeometry& g = conv.geometry;
  const PixelBands& bands = conv.bands;
  const int64_t plane = bands.PlaneFloats();
  int32_t* offset = conv.offsets;
  for (int64_t c = 0; c < conv.inputs; ++c) {
    for (int kh = 0; kh < g.kernel[0]; ++kh) {
      const int row = kh * g.dilations[0];
      const int64_t row_plane = c * bands.phases[0] + row % g.strides[0];
      for (int kw = 0; kw < g.kernel[1]; ++kw) {
        const int column = kw * g.dilations[1];
        const int64_t own_plane = row_plane * bands.phases[1] + column % g.strides[1];
        *offset++ = static_cast<int32_t>(
            own_plane * plane + row / g.strides[0] * bands.plane_columns + column / g.strides[1]);
      }
    }
  }
}

/// Copies what lies inside the image of one row of a phase's planes, of all channels of a group:
/// position i of the row is column first + i * stride of the image.
void CopyRow(const PixelConv& conv, const float* from, int64_t first, float* to) {
  const ConvGeometry& g = conv.geometry;
  const int stride = g.strides[1];
  const int width = conv.bands.plane_columns;
  const int64_t channel = conv.bands.PlaneFloats() * conv.bands.phases[0] * conv.bands.phases[1];
  const int64_t before = first < 0 ? (stride - 1 - first) / stride : 0;
  const auto begin = static_cast<int>(before < width ? before : width);
  const int64_t column = first + int64_t{begin} * stride;
  const int64_t inside =
      column < g.in_extent[1] ? (g.in_extent[1] - column + stride - 1) / stride : 0;
  for (int c = 0; begin > 0 && c < conv.inputs; ++c) {
    std::memset(to + c * channel, 0, static_cast<size_t>(begin) * sizeof(float));
  }
  PackCall call = {};
  call.from = from + column * g.x.pixel;
  call.row_step = g.x.channel;
  call.column_step = g.x.pixel * stride;
  call.depth = conv.inputs;
  call.taps = 1;
  call.width = width - begin;
  call.count = inside < call.width ? static_cast<int>(inside) : call.width;
  call.to_step = channel;
  call.scale = 1.0F;
  call.to = to + begin;
  conv.packed->routines->pack(call);
}

/// Copies what `rows` output rows from `row` on read, from output column `column` on.
void CopyBand(const PixelConv& conv, const float* group, int64_t row, int rows, int64_t column,
              float* copy) {
  const ConvGeometry& g = conv.geometry;
  const PixelBands& bands = conv.bands;
  const int64_t plane = bands.PlaneFloats();
  const int64_t channel = plane * bands.phases[0] * bands.phases[1];
  const int64_t top = row * g.strides[0] - g.pads[0];
  const int64_t left = column * g.strides[1] - g.pads[1];
  const int plane_rows = bands.plane_rows - bands.rows + rows;
  for (int down = 0; down < bands.phases[0]; ++down) {
    for (int i = 0; i < plane_rows; ++i) {
      const int64_t h = top + down + int64_t{i} * g.strides[0];
      const bool is_inside = h >= 0 && h < g.in_extent[0];
      for (int across = 0; across < bands.phases[1]; ++across) {
        float* to = copy + (int64_t{down} * bands.phases[1] + across) * plane +
                    int64_t{i} * bands.plane_columns;
        if (is_inside) {
          CopyRow(conv, group + h * g.x.row, left + across, to);
          continue;
        }
        for (int c = 0; c < conv.inputs; ++c) {
          std::memset(to + c * channel, 0,
                      static_cast<size_t>(bands.plane_columns) * sizeof(float));
        }
      }
    }
  }
}

/// Applies an activation that is no clamp to the outputs of a band.
void ActivateBand(const PixelConv& conv, const PixelsCall& call) {
  if (conv.epilogue.is_clamp) return;
  const Routines& routines = *conv.packed->routines;
  for (int row = 0; row < call.rows; ++row) {
    float* y = call.y + row * call.y_row;
    if (call.y_channel == 1 && call.y_pixel == call.outputs) {
      Activate(routines, conv.activation, y, 1, 1, call.columns * call.outputs);
    } else if (call.y_channel == 1) {
      Activate(routines, conv.activation, y, call.y_pixel, call.columns, call.outputs);
    } else if (call.y_pixel == 1) {
      Activate(routines, conv.activation, y, call.y_channel, call.outputs, call.columns);
    } else {
      for (int m = 0; m < call.outputs; ++m) {
        Activate(routines, conv.activation, y + m * call.y_channel, call.y_pixel, call.columns, 1);
      }
    }
  }
}

/// Returns a call with what all of them have in common.
PixelsCall StartCalls(const PixelConv& conv) {
  const ConvGeometry& g = conv.geometry;
  PixelsCall call = {};
  call.offsets = conv.offsets;
  call.x_row = conv.bands.plane_columns;
  call.residual_row = g.residual.row;
  call.residual_pixel = g.residual.pixel;
  call.residual_channel = g.residual.channel;
  call.y_row = g.y.row;
  call.y_pixel = g.y.pixel;
  call.y_channel = g.y.channel;
  call.products = conv.inputs * g.Taps();
  call.outputs = conv.outputs;
  call.width = conv.packed->width;
  call.low = conv.epilogue.low;
  call.high = conv.epilogue.high;
  return call;
}

/// Computes the item's segment of a band of rows, of one group of one image.
void RunItem(const PixelConv& conv, const OpCall& op, int64_t item, float* copy, PixelsCall& call) {
  const ConvGeometry& g = conv.geometry;
  const PixelBands& bands = conv.bands;
  const int64_t column = item % bands.segments * bands.columns;
  const int64_t row = item / bands.segments % bands.bands * bands.rows;
  const int64_t image_group = item / bands.segments / bands.bands;
  const int64_t group = image_group % g.convolutions;
  const int64_t image = image_group / g.convolutions;
  call.rows =
      static_cast<int>(g.out_extent[0] - row < bands.rows ? g.out_extent[0] - row : bands.rows);
  call.columns = static_cast<int>(
      g.out_extent[1] - column < bands.columns ? g.out_extent[1] - column : bands.columns);
  CopyBand(
      conv,
      op.Input(In::kX).As<const float>() + image * g.x.image + group * conv.inputs * g.x.channel,
      row, call.rows, column, copy);
  const auto place = [&](const ImageStrides& strides) {
    return image * strides.image + group * conv.outputs * strides.channel + row * strides.row +
           column * strides.pixel;
  };
  call.x = copy;
  call.weights = conv.packed->weights + group * call.products * call.width;
  call.bias = conv.packed->bias + group * call.width;
  call.y = op.Output().As<float>() + place(g.y);
  call.residual = op.HasInput(In::kResidual)
                      ? op.Input(In::kResidual).As<const float>() + place(g.residual)
                      : nullptr;
  conv.packed->routines->pixels(call);
  ActivateBand(conv, call);
}

}  // namespace

Status PixelConvCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(PixelConvSupports(setup.op)));
  return CheckConvConstants(setup.op);
}

Status PixelConvLoad(const KernelSetup& setup, void** shared) {
  const ConvGeometry geometry = GeometryOf(setup.op);
  const int width = RoundUp(geometry.outputs / geometry.convolutions, kPixelOutputStep);
  BlockLayout sizes(nullptr);
  LayOut(sizes, geometry, width);
  void* memory = AllocateBlock(sizes.bytes());
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(sizes.bytes()));
  BlockLayout block(memory);
  PixelWeights& packed = *LayOut(block, geometry, width);
  packed.routines = &ChosenRoutines();
  packed.bytes = sizes.bytes();
  Pack(setup.op, geometry, packed);
  *shared = &packed;
  return OkStatus();
}

Status PixelConvRun(const KernelCall& call) {
  PixelConv conv;
  conv.packed = static_cast<const PixelWeights*>(call.state);
  conv.geometry = GeometryOf(call.op);
  const ConvGeometry& g = conv.geometry;
  conv.inputs = g.inputs / g.convolutions;
  conv.outputs = g.outputs / g.convolutions;
  conv.bands = PixelBandsOf(call.op);
  conv.activation = call.op.AttributesAs<ConvAttributes>().activation;
  conv.epilogue = MakeEpilogue(conv.activation);
  FillOffsets(conv);
  const int items = g.images * g.convolutions * conv.bands.bands * conv.bands.segments;
  ParallelFor(g.Work() < kSmallWork ? nullptr : call.parallel, items, [&](int begin, int end) {
    alignas(64) float copy[kMostPixelFloats];
    std::memset(copy + conv.bands.floats - kMostPixelRun, 0, kMostPixelRun * sizeof(float));
    PixelsCall pixels = StartCalls(conv);
    for (int item = begin; item < end; ++item) RunItem(conv, call.op, item, copy, pixels);
  });
  return OkStatus();
}

size_t PixelConvBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const PixelWeights*>(shared)->bytes;
}

}  // namespace tenon::cpu::f32
