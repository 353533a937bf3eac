// Launches matrix products by tiles (gemm_tile of conv_tile.cl and conv_tile_local.cl).
#include <memory>
#include <new>

#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/plain_weights.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// As in matmul_pack.cl.
struct PackParameters {
  int32_t depth = 0, columns = 0;
  int32_t width = 0, blocks = 0;
  int32_t group_step = 0, depth_step = 0, column_step = 0;
  int32_t has_bias = 0;
};

struct OpenedMatMul {
  OpenedTile tile;
  bool packs = false;  ///< the second factor, in every run
  Kernel pack;
  PackParameters pack_parameters;
  Range pack_global = {1};
  Range pack_local = {1};
};

/// The second factor as groups of matrices, wherever its data are.
MatrixView FactorOf(const OpCall& op) {
  const MatMulShape shape = MatMulShapeOf(op);
  const TensorView& b = op.Input(MatMulInput::kWeights);
  const bool transposed = op.AttributesAs<MatMulAttributes>().transpose_b != 0;
  MatrixView matrix;
  matrix.data = b.As<const float>();
  matrix.groups = shape.b_groups;
  matrix.depth = shape.depth;
  matrix.columns = shape.columns;
  matrix.depth_step = b.strides[b.rank - (transposed ? 1 : 2)];
  matrix.column_step = b.strides[b.rank - (transposed ? 2 : 1)];
  // Batches lie row-major, one matrix after another.
  matrix.group_step = int64_t{shape.depth} * shape.columns;
  if (MatMulBiasIsPacked(op)) {
    const TensorView& bias = op.Input(MatMulInput::kBias);
    matrix.bias = bias.As<const float>();
    matrix.bias_step = bias.strides[bias.rank - 1];
  }
  return matrix;
}

TileParameters TileParametersOf(const OpCall& op, const TileShape& tile) {
  const MatMulShape shape = MatMulShapeOf(op);
  const MatMulSteps steps = MatMulStepsOf(op);
  TileParameters p;
  p.pixels = shape.rows;
  p.channels = shape.depth;
  p.outputs = shape.columns;
  p.blocks = BlocksOf(shape.columns, tile);
  p.weight_groups = shape.b_groups;
  p.x_pixel = steps.a_row;
  p.x_channel = steps.a_depth;
  p.x_group = steps.a_group;
  p.y_pixel = shape.columns;
  p.y_group = shape.rows * shape.columns;
  if (op.HasInput(MatMulInput::kBias) && !MatMulBiasIsPacked(op)) {
    p.has_residual = 1;
    p.residual_pixel = steps.bias_row;
    p.residual_group = steps.bias_group;
  }
  const ActivationArguments activation =
      ArgumentsOf(op.AttributesAs<MatMulAttributes>().activation);
  p.a = activation.a;
  p.b = activation.b;
  return p;
}

Status OpenPacking(const KernelSetup& setup, const LoadedTile& loaded, OpenedMatMul& opened) {
  const MatrixView factor = FactorOf(setup.op);
  PackParameters& p = opened.pack_parameters;
  p.depth = factor.depth;
  p.columns = factor.columns;
  p.width = loaded.shape->width();
  p.group_step = static_cast<int32_t>(factor.group_step);
  p.depth_step = static_cast<int32_t>(factor.depth_step);
  p.column_step = static_cast<int32_t>(factor.column_step);
  p.has_bias = factor.bias != nullptr ? 1 : 0;
  opened.packs = true;
  p.blocks = BlocksOf(factor.columns, *loaded.shape);
  const auto blocks = static_cast<size_t>(p.blocks);
  const auto groups = static_cast<size_t>(factor.groups);
  if (loaded.device->traits().is_cpu) {
    opened.pack_global = Range(blocks, groups);
  } else {
    opened.pack_global =
        Range(blocks * static_cast<size_t>(p.width), static_cast<size_t>(factor.depth) + 1, groups);
    opened.pack_local = Range(32, 4);
  }
  cl_program program = nullptr;
  TENON_RETURN_IF_ERROR(loaded.device->FindProgram("matmul_pack.cl", "", &program));
  return opened.pack.Create(program, "matmul_pack");
}

Status Pack(const KernelCall& call, OpenedMatMul& opened) {
  Launch launch(call, opened.pack, opened.tile.loaded->constants);
  launch.Input(MatMulInput::kWeights);
  if (opened.pack_parameters.has_bias != 0) {
    launch.Input(MatMulInput::kBias);
  } else {
    launch.Input(MatMulInput::kWeights);  // not read
  }
  return launch.Workspace()
      .Value(opened.pack_parameters)
      .Enqueue(opened.pack_global, opened.pack_local);
}

}  // namespace

Status MatMulTileCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR((Check<MatMulTileSupports, LayoutNeed::kRowMajor>(setup)));
  // Of constants that are not packed, the kernel wants the same.
  for (const int input : {MatMulInput::kX, MatMulInput::kBias}) {
    if (!setup.op.HasInput(input)) continue;
    TENON_ENSURE(setup.op.Input(input).IsRowMajor(), kUnsupported,
                 "constant input {0} does not lie row-major", input);
  }
  const TensorView& b = setup.op.Input(MatMulInput::kWeights);
  const bool one_matrix = MatMulShapeOf(setup.op).b_groups == 1;
  TENON_ENSURE(one_matrix || b.IsRowMajor(), kUnsupported,
               "a constant second factor with batches does not lie row-major");
  const size_t needed = MatMulWorkspace(setup.op, setup.threads);
  TENON_ENSURE(setup.workspace_bytes >= needed, kOutOfMemory,
               "a product of two variable factors needs {0} bytes of workspace, not {1}",
               static_cast<int64_t>(needed), static_cast<int64_t>(setup.workspace_bytes));
  return OkStatus();
}

Status MatMulTileLoad(const KernelSetup& setup, void** shared) {
  TENON_ENSURE(setup.device != nullptr, kFailedPrecondition,
               "an OpenCL kernel was loaded without its device");
  std::unique_ptr<LoadedTile> loaded(new (std::nothrow) LoadedTile());
  TENON_ENSURE(loaded != nullptr, kOutOfMemory, "no memory for an OpenCL op");
  const PlainWeights plain(setup.op, MatMulInput::kWeightsScale);
  const OpCall& op = plain.op();
  loaded->device = static_cast<Device*>(setup.device);
  loaded->shape = &TileFor(setup.variant, MatMulTileProblem(op), loaded->device->traits().tiles());
  TENON_RETURN_IF_ERROR(FindTileProgram(*loaded->device, *loaded->shape,
                                        op.AttributesAs<MatMulAttributes>().activation, false,
                                        &loaded->program));
  uint32_t packed_inputs = 0;
  if (op.Input(MatMulInput::kWeights).data != nullptr) {
    packed_inputs |= 1U << MatMulInput::kWeights;
    if (MatMulBiasIsPacked(op)) packed_inputs |= 1U << MatMulInput::kBias;
    const std::vector<float> packed = PackForTiles(FactorOf(op), loaded->shape->width());
    TENON_RETURN_IF_ERROR(
        loaded->weights.Create(*loaded->device, packed.data(), packed.size() * sizeof(float)));
  }
  TENON_RETURN_IF_ERROR(UploadConstants(op, *loaded->device, packed_inputs, &loaded->constants));
  *shared = loaded.release();
  return OkStatus();
}

Status MatMulTileOpen(const KernelSetup& setup, void* shared, void** state) {
  std::unique_ptr<OpenedMatMul> opened(new (std::nothrow) OpenedMatMul());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL kernel");
  const auto& loaded = *static_cast<const LoadedTile*>(shared);
  OpenedTile& tile = opened->tile;
  tile.loaded = &loaded;
  tile.launch.shape = loaded.shape;
  tile.launch.parameters = TileParametersOf(setup.op, *loaded.shape);
  CutIntoItems(loaded.device->traits(), MatMulShapeOf(setup.op).groups, &tile.launch);
  TENON_RETURN_IF_ERROR(tile.kernel.Create(loaded.program, "gemm_tile"));
  if (loaded.weights.memory() == nullptr) {
    TENON_RETURN_IF_ERROR(OpenPacking(setup, loaded, *opened));
  }
  *state = opened.release();
  return OkStatus();
}

Status MatMulTileRun(const KernelCall& call) {
  auto& opened = *static_cast<OpenedMatMul*>(call.state);
  if (opened.packs) TENON_RETURN_IF_ERROR(Pack(call, opened));
  const LoadedTile& loaded = *opened.tile.loaded;
  Launch launch(call, opened.tile.kernel, loaded.constants);
  launch.Input(MatMulInput::kX);
  if (opened.packs) {
    launch.Workspace();
  } else {
    launch.Table(loaded.weights);
  }
  launch.Output();
  const TileLaunch& how = opened.tile.launch;
  if (how.parameters.has_residual != 0) {
    launch.Input(MatMulInput::kBias);
  } else {
    launch.Input(MatMulInput::kX);  // not read
  }
  return EnqueueTile(launch, how);
}

void MatMulTileClose(void* state) { delete static_cast<OpenedMatMul*>(state); }

}  // namespace tenon::opencl
