// Computes 3x3 convolutions in Winograd's way: each piece of the tiles is transformed, multiplied
// and transformed back.
#include <memory>
#include <new>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/codegen/conv_geometry.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/plain_weights.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

constexpr int kWinogradLanes = 16;  // of conv_winograd.cl

/// As in conv_winograd.cl.
struct WinogradParameters {
  int32_t first_tile = 0;
  int32_t tiles = 0;
  int32_t tile_rows = 0, tile_columns = 0;
  int32_t rows = 0, columns = 0;
  int32_t pad_top = 0, pad_left = 0;
  int32_t channels = 0;
  int32_t image_stride = 0, row_stride = 0, pixel_stride = 0;
  int32_t residual_image = 0, residual_row = 0, residual_pixel = 0;
  int32_t has_residual = 0;
  float a = 0.0F, b = 0.0F;
};

struct LoadedWinograd {
  Device* device = nullptr;
  cl_program gemm_program = nullptr;       ///< the device's
  cl_program transform_program = nullptr;  ///< the same
  const TileShape* shape = nullptr;
  DeviceBuffer weights;
  DeviceBuffer bias;
  std::vector<DeviceBuffer> constants;  ///< by input, as they lie
};

struct OpenedWinograd {
  const LoadedWinograd* loaded = nullptr;
  Kernel input;
  Kernel gemm;
  Kernel output;
  WinogradPieces pieces;
  WinogradParameters input_parameters;
  WinogradParameters output_parameters;
  TileLaunch gemm_launch;
};

/// G of Lavin and Gray: rows of the transform of a column of three weights.
constexpr double kTransform[6][3] = {
    {1.0 / 4, 0.0, 0.0},           {-1.0 / 6, -1.0 / 6, -1.0 / 6}, {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 1.0 / 12, 1.0 / 6}, {1.0 / 24, -1.0 / 12, 1.0 / 6}, {0.0, 0.0, 1.0}};

/// 36 coefficients of one 3x3 kernel, in double precision, stored `step` apart.
void TransformWeights(const float* w, const TensorView& view, float* to, int64_t step) {
  double half_way[6][3];
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 3; ++c) {
      half_way[r][c] = 0.0;
      for (int k = 0; k < 3; ++k) {
        const float value = w[int64_t{k} * view.strides[2] + int64_t{c} * view.strides[3]];
        half_way[r][c] += kTransform[r][k] * static_cast<double>(value);
      }
    }
  }
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 6; ++c) {
      double sum = 0.0;
      for (int k = 0; k < 3; ++k) sum += half_way[r][k] * kTransform[c][k];
      to[(r * 6 + c) * step] = static_cast<float>(sum);
    }
  }
}

/// Weights as 36 matrices in the order of tiles, without a bias.
std::vector<float> PackWinogradWeights(const TensorView& w, int width) {
  const int64_t inputs = w.dims[1];
  const int64_t outputs = w.dims[0];
  std::vector<float> coefficients(static_cast<size_t>(kWinogradCoefficients * inputs * outputs));
  const int64_t step = inputs * outputs;
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      TransformWeights(w.As<const float>() + o * w.strides[0] + i * w.strides[1], w,
                       coefficients.data() + i * outputs + o, step);
    }
  }
  MatrixView matrix;
  matrix.data = coefficients.data();
  matrix.groups = kWinogradCoefficients;
  matrix.depth = w.dims[1];
  matrix.columns = w.dims[0];
  matrix.group_step = step;
  matrix.depth_step = outputs;
  matrix.column_step = 1;
  return PackForTiles(matrix, width);
}

std::vector<float> PaddedBias(const OpCall& op, int32_t padded) {
  std::vector<float> bias(static_cast<size_t>(padded));
  if (!op.HasInput(ConvInput::kBias)) return bias;
  const TensorView& view = op.Input(ConvInput::kBias);
  for (int32_t i = 0; i < view.dims[0]; ++i) {
    bias[static_cast<size_t>(i)] = view.As<const float>()[int64_t{i} * view.strides[0]];
  }
  return bias;
}

/// A product of one coefficient.
TileProblem GemmProblem(const OpCall& op) {
  TileProblem problem = ConvTileProblem(op);
  problem.pixels = WinogradPiecesOf(op).piece_tiles;
  return problem;
}

void FillParameters(const OpCall& op, OpenedWinograd& opened) {
  const TileShape& shape = *opened.loaded->shape;
  const TileParameters conv = ConvParameters(op, shape);
  WinogradParameters& input = opened.input_parameters;
  input.tile_rows = opened.pieces.tile_rows;
  input.tile_columns = opened.pieces.tile_columns;
  WinogradParameters& output = opened.output_parameters;
  output = input;
  input.rows = conv.input_rows;
  input.columns = conv.input_columns;
  input.pad_top = conv.pad_top;
  input.pad_left = conv.pad_left;
  input.channels = conv.channels;
  input.image_stride = conv.x_image;
  input.row_stride = conv.x_row;
  input.pixel_stride = conv.x_pixel;
  output.rows = conv.output_rows;
  output.columns = conv.output_columns;
  output.channels = conv.outputs;
  output.image_stride = conv.y_image;
  output.row_stride = conv.y_row;
  output.pixel_stride = conv.y_pixel;
  output.residual_image = conv.residual_image;
  output.residual_row = conv.residual_row;
  output.residual_pixel = conv.residual_pixel;
  output.has_residual = conv.has_residual;
  output.a = conv.a;
  output.b = conv.b;
  opened.gemm_launch.shape = &shape;
  TileParameters& gemm = opened.gemm_launch.parameters;
  gemm.channels = conv.channels;
  gemm.outputs = opened.pieces.padded_outputs;
  gemm.blocks = conv.blocks;
  gemm.weight_groups = kWinogradCoefficients;
  gemm.x_pixel = opened.pieces.padded_inputs;
  gemm.y_pixel = opened.pieces.padded_outputs;
  const ActivationArguments none = ArgumentsOf({});
  gemm.a = none.a;
  gemm.b = none.b;
}

Status RunPiece(const KernelCall& call, OpenedWinograd& opened, int32_t first, int32_t tiles) {
  const LoadedWinograd& loaded = *opened.loaded;
  const WinogradPieces& pieces = opened.pieces;
  const int64_t products = int64_t{kWinogradCoefficients} * tiles * pieces.padded_inputs;
  const size_t group = loaded.device->traits().is_cpu ? 1 : 16;
  opened.input_parameters.first_tile = opened.output_parameters.first_tile = first;
  opened.input_parameters.tiles = opened.output_parameters.tiles = tiles;
  TENON_RETURN_IF_ERROR(Launch(call, opened.input, loaded.constants)
                            .Input(ConvInput::kX)
                            .Workspace()
                            .Value(opened.input_parameters)
                            .Enqueue({static_cast<size_t>(tiles),
                                      static_cast<size_t>(pieces.padded_inputs / kWinogradLanes)},
                                     group));
  TileLaunch& gemm = opened.gemm_launch;
  gemm.parameters.pixels = tiles;
  gemm.parameters.x_group = tiles * pieces.padded_inputs;
  gemm.parameters.y_group = tiles * pieces.padded_outputs;
  CutIntoItems(loaded.device->traits(), kWinogradCoefficients, &gemm);
  Launch product(call, opened.gemm, loaded.constants);
  product.Workspace()
      .Table(loaded.weights)
      .Address(call.workspace, sizeof(float), products)
      .Workspace();  // no residual
  TENON_RETURN_IF_ERROR(EnqueueTile(product, gemm));
  return Launch(call, opened.output, loaded.constants)
      .Address(call.workspace, sizeof(float), products)
      .Buffer(loaded.bias)
      .Output()
      .Input(ConvInput::kResidual)
      .Value(opened.output_parameters)
      .Enqueue(
          {static_cast<size_t>(tiles), static_cast<size_t>(pieces.padded_outputs / kWinogradLanes)},
          group);
}

}  // namespace

Status ConvWinogradCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR((Check<ConvWinogradSupports, LayoutNeed::kChannelsLastStrided>(setup)));
  const size_t needed = ConvWinogradWorkspace(setup.op, setup.threads);
  TENON_ENSURE(setup.workspace_bytes >= needed, kOutOfMemory,
               "Winograd's way needs {0} bytes of workspace, not {1}", static_cast<int64_t>(needed),
               static_cast<int64_t>(setup.workspace_bytes));
  return OkStatus();
}

Status ConvWinogradLoad(const KernelSetup& setup, void** shared) {
  TENON_ENSURE(setup.device != nullptr, kFailedPrecondition,
               "an OpenCL kernel was loaded without its device");
  std::unique_ptr<LoadedWinograd> loaded(new (std::nothrow) LoadedWinograd());
  TENON_ENSURE(loaded != nullptr, kOutOfMemory, "no memory for an OpenCL op");
  Device& device = *static_cast<Device*>(setup.device);
  const PlainWeights plain(setup.op, ConvInput::kWeightsScale);
  const OpCall& op = plain.op();
  loaded->device = &device;
  loaded->shape = &TileFor(setup.variant, GemmProblem(op), device.traits().tiles());
  TENON_RETURN_IF_ERROR(FindTileProgram(device, *loaded->shape, {}, false, &loaded->gemm_program));
  TENON_RETURN_IF_ERROR(device.FindProgram(
      "conv_winograd.cl", FunctionOption(op.AttributesAs<ConvAttributes>().activation),
      &loaded->transform_program));
  const std::vector<float> packed =
      PackWinogradWeights(op.Input(ConvInput::kWeights), loaded->shape->width());
  TENON_RETURN_IF_ERROR(
      loaded->weights.Create(device, packed.data(), packed.size() * sizeof(float)));
  const std::vector<float> bias = PaddedBias(op, WinogradPiecesOf(op).padded_outputs);
  TENON_RETURN_IF_ERROR(loaded->bias.Create(device, bias.data(), bias.size() * sizeof(float)));
  TENON_RETURN_IF_ERROR(UploadConstants(op, device, kPackedInputs, &loaded->constants));
  *shared = loaded.release();
  return OkStatus();
}

Status ConvWinogradOpen(const KernelSetup& setup, void* shared, void** state) {
  std::unique_ptr<OpenedWinograd> opened(new (std::nothrow) OpenedWinograd());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL kernel");
  opened->loaded = static_cast<const LoadedWinograd*>(shared);
  opened->pieces = WinogradPiecesOf(setup.op);
  FillParameters(setup.op, *opened);
  const LoadedWinograd& loaded = *opened->loaded;
  TENON_RETURN_IF_ERROR(opened->input.Create(loaded.transform_program, "winograd_input"));
  TENON_RETURN_IF_ERROR(opened->gemm.Create(loaded.gemm_program, "gemm_tile"));
  TENON_RETURN_IF_ERROR(opened->output.Create(loaded.transform_program, "winograd_output"));
  *state = opened.release();
  return OkStatus();
}

Status ConvWinogradRun(const KernelCall& call) {
  auto& opened = *static_cast<OpenedWinograd*>(call.state);
  const WinogradPieces& pieces = opened.pieces;
  for (int32_t first = 0; first < pieces.tiles; first += pieces.piece_tiles) {
    const int32_t left = pieces.tiles - first;
    TENON_RETURN_IF_ERROR(
        RunPiece(call, opened, first, left < pieces.piece_tiles ? left : pieces.piece_tiles));
  }
  return OkStatus();
}

void ConvWinogradClose(void* state) { delete static_cast<OpenedWinograd*>(state); }

void ConvWinogradUnload(void* shared) { delete static_cast<LoadedWinograd*>(shared); }

size_t ConvWinogradHeldBytes(const void* shared, const void* state) {
  size_t bytes = state != nullptr ? sizeof(OpenedWinograd) : 0;
  if (shared == nullptr) return bytes;
  const auto& loaded = *static_cast<const LoadedWinograd*>(shared);
  bytes += sizeof(LoadedWinograd) + loaded.weights.bytes() + loaded.bias.bytes() +
           loaded.constants.size() * sizeof(DeviceBuffer);
  for (const DeviceBuffer& buffer : loaded.constants) bytes += buffer.bytes();
  return bytes;
}

}  // namespace tenon::opencl
