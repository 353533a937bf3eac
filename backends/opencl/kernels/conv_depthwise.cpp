// Launches depthwise convolutions.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <new>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/codegen/conv_geometry.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/plain_weights.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// As in conv_depthwise.cl.
struct DepthwiseParameters {
  int32_t rows = 0;
  int32_t rows_per_item = 1;
  int32_t output_rows = 1, output_columns = 1;
  int32_t input_rows = 1, input_columns = 1;
  int32_t channels = 0;
  int32_t taps_y = 1, taps_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t x_image = 0, x_row = 0, x_pixel = 0;
  int32_t y_image = 0, y_row = 0, y_pixel = 0;
  int32_t residual_image = 0, residual_row = 0, residual_pixel = 0;
  int32_t has_residual = 0;
  float a = 0.0F, b = 0.0F;
};

struct LoadedDepthwise {
  Device* device = nullptr;
  cl_program program = nullptr;  ///< the device's
  DeviceBuffer weights;
  std::vector<DeviceBuffer> constants;  ///< by input, as they lie
};

/// Makes one launch, for whole blocks of channels or for the channels after them.
struct DepthwiseLaunch {
  Kernel kernel;
  DepthwiseParameters parameters;
  Range global = {0};  ///< empty: there is nothing to do
  Range local = {1};
};

struct OpenedDepthwise {
  const LoadedDepthwise* loaded = nullptr;
  DepthwiseLaunch blocks;
  DepthwiseLaunch rest;
};

/// The parameters of conv_tile.cl in this kernel's terms.
DepthwiseParameters DepthwiseParametersOf(const OpCall& op) {
  const TileParameters t = ConvParameters(op, TileShapes()[0]);
  DepthwiseParameters p;
  p.rows = op.Output().dims[0] * t.output_rows;
  p.output_rows = t.output_rows;
  p.output_columns = t.output_columns;
  p.input_rows = t.input_rows;
  p.input_columns = t.input_columns;
  p.channels = op.Output().dims[1];
  p.taps_y = t.taps_y;
  p.taps_x = t.taps_x;
  p.stride_y = t.stride_y;
  p.stride_x = t.stride_x;
  p.dilation_y = t.dilation_y;
  p.dilation_x = t.dilation_x;
  p.pad_top = t.pad_top;
  p.pad_left = t.pad_left;
  p.x_image = t.x_image;
  p.x_row = t.x_row;
  p.x_pixel = t.x_pixel;
  p.y_image = t.y_image;
  p.y_row = t.y_row;
  p.y_pixel = t.y_pixel;
  p.residual_image = t.residual_image;
  p.residual_row = t.residual_row;
  p.residual_pixel = t.residual_pixel;
  p.has_residual = t.has_residual;
  p.a = t.a;
  p.b = t.b;
  return p;
}

/// Weights as one matrix of depth 1: a column for each channel.
MatrixView ChannelMatrix(const OpCall& op) {
  MatrixView matrix = ConvMatrix(op);
  matrix.columns = matrix.groups;
  matrix.groups = 1;
  return matrix;
}

/// A few work-items for each core, each of which has a block of channels, and loops over rows.
void CutIntoRows(const DeviceTraits& traits, int32_t blocks, DepthwiseLaunch& launch) {
  DepthwiseParameters& p = launch.parameters;
  constexpr int32_t kItemsPerCore = 16;
  const int32_t wanted = kItemsPerCore * std::max(traits.compute_units, 2);
  const int32_t runs = std::min(p.rows, (wanted + blocks - 1) / blocks);
  p.rows_per_item = (p.rows + runs - 1) / runs;
  launch.global = Range(static_cast<size_t>(blocks),
                        static_cast<size_t>((p.rows + p.rows_per_item - 1) / p.rows_per_item));
}

/// Many small work-items: a tile of one or two channels each.
void CutIntoTiles(int32_t channels, int32_t channels_per_item, DepthwiseLaunch& launch) {
  const DepthwiseParameters& p = launch.parameters;
  constexpr int32_t kPixels = 4;  // TILE of conv_depthwise.cl
  const int32_t tiles = (p.output_columns + kPixels - 1) / kPixels;
  launch.global = Range(static_cast<size_t>(channels / channels_per_item),
                        static_cast<size_t>(p.rows) * static_cast<size_t>(tiles));
  launch.local = Range(16, 4);
}

/// `function` is for `channels` of the op's.
Status OpenLaunch(const OpCall& op, const LoadedDepthwise& loaded, const char* function,
                  int32_t channels, DepthwiseLaunch& launch) {
  launch.parameters = DepthwiseParametersOf(op);
  const DeviceTraits& traits = loaded.device->traits();
  const bool is_whole = channels % kDepthwiseLanes == 0;
  if (traits.is_cpu) {
    CutIntoRows(traits, is_whole ? channels / kDepthwiseLanes : 1, launch);
  } else {
    CutIntoTiles(channels, is_whole ? 2 : 1, launch);
  }
  return launch.kernel.Create(loaded.program, function);
}

}  // namespace

Status ConvDepthwiseLoad(const KernelSetup& setup, void** shared) {
  TENON_ENSURE(setup.device != nullptr, kFailedPrecondition,
               "an OpenCL kernel was loaded without its device");
  std::unique_ptr<LoadedDepthwise> loaded(new (std::nothrow) LoadedDepthwise());
  TENON_ENSURE(loaded != nullptr, kOutOfMemory, "no memory for an OpenCL op");
  loaded->device = static_cast<Device*>(setup.device);
  TENON_RETURN_IF_ERROR(loaded->device->FindProgram("conv_depthwise.cl", DepthwiseOptions(setup.op),
                                                    &loaded->program));
  const PlainWeights plain(setup.op, ConvInput::kWeightsScale);
  const std::vector<float> packed = PackForTiles(ChannelMatrix(plain.op()), kDepthwiseLanes);
  TENON_RETURN_IF_ERROR(
      loaded->weights.Create(*loaded->device, packed.data(), packed.size() * sizeof(float)));
  TENON_RETURN_IF_ERROR(
      UploadConstants(plain.op(), *loaded->device, kPackedInputs, &loaded->constants));
  *shared = loaded.release();
  return OkStatus();
}

Status ConvDepthwiseOpen(const KernelSetup& setup, void* shared, void** state) {
  std::unique_ptr<OpenedDepthwise> opened(new (std::nothrow) OpenedDepthwise());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL kernel");
  opened->loaded = static_cast<const LoadedDepthwise*>(shared);
  const int32_t channels = setup.op.Output().dims[1];
  const int32_t rest = channels % kDepthwiseLanes;
  if (channels > rest) {
    TENON_RETURN_IF_ERROR(
        OpenLaunch(setup.op, *opened->loaded, "depthwise", channels - rest, opened->blocks));
  }
  if (rest != 0) {
    TENON_RETURN_IF_ERROR(
        OpenLaunch(setup.op, *opened->loaded, "depthwise_rest", rest, opened->rest));
  }
  *state = opened.release();
  return OkStatus();
}

Status ConvDepthwiseRun(const KernelCall& call) {
  auto& opened = *static_cast<OpenedDepthwise*>(call.state);
  const LoadedDepthwise& loaded = *opened.loaded;
  for (DepthwiseLaunch* launch : {&opened.blocks, &opened.rest}) {
    if (launch->global.v[0] == 0) continue;
    TENON_RETURN_IF_ERROR(Launch(call, launch->kernel, loaded.constants)
                              .Input(ConvInput::kX)
                              .Buffer(loaded.weights)
                              .Output()
                              .Input(ConvInput::kResidual)
                              .Value(launch->parameters)
                              .Enqueue(launch->global, launch->local));
  }
  return OkStatus();
}

void ConvDepthwiseClose(void* state) { delete static_cast<OpenedDepthwise*>(state); }

void ConvDepthwiseUnload(void* shared) { delete static_cast<LoadedDepthwise*>(shared); }

size_t ConvDepthwiseHeldBytes(const void* shared, const void* state) {
  size_t bytes = state != nullptr ? sizeof(OpenedDepthwise) : 0;
  if (shared == nullptr) return bytes;
  const auto& loaded = *static_cast<const LoadedDepthwise*>(shared);
  bytes += sizeof(LoadedDepthwise) + loaded.weights.bytes() +
           loaded.constants.size() * sizeof(DeviceBuffer);
  for (const DeviceBuffer& buffer : loaded.constants) bytes += buffer.bytes();
  return bytes;
}

}  // namespace tenon::opencl
