// Launches convolutions by register tiles.
#include <memory>
#include <new>

#include "backends/opencl/codegen/conv_geometry.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/plain_weights.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

Status ConvTileLoad(const KernelSetup& setup, void** shared) {
  TENON_ENSURE(setup.device != nullptr, kFailedPrecondition,
               "an OpenCL kernel was loaded without its device");
  std::unique_ptr<LoadedTile> loaded(new (std::nothrow) LoadedTile());
  TENON_ENSURE(loaded != nullptr, kOutOfMemory, "no memory for an OpenCL op");
  loaded->device = static_cast<Device*>(setup.device);
  loaded->shape =
      &TileFor(setup.variant, ConvTileProblem(setup.op), loaded->device->traits().tiles());
  TENON_RETURN_IF_ERROR(FindTileProgram(
      *loaded->device, *loaded->shape, setup.op.AttributesAs<ConvAttributes>().activation,
      HasScatteredChannels(setup.op.Input(ConvInput::kX)), &loaded->program));
  const PlainWeights plain(setup.op, ConvInput::kWeightsScale);
  const std::vector<float> packed = PackForTiles(ConvMatrix(plain.op()), loaded->shape->width());
  TENON_RETURN_IF_ERROR(
      loaded->weights.Create(*loaded->device, packed.data(), packed.size() * sizeof(float)));
  TENON_RETURN_IF_ERROR(
      UploadConstants(plain.op(), *loaded->device, kPackedInputs, &loaded->constants));
  *shared = loaded.release();
  return OkStatus();
}

Status ConvTileOpen(const KernelSetup& setup, void* shared, void** state) {
  std::unique_ptr<OpenedTile> opened(new (std::nothrow) OpenedTile());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL kernel");
  const auto& loaded = *static_cast<const LoadedTile*>(shared);
  opened->loaded = &loaded;
  TileLaunch& launch = opened->launch;
  launch.shape = loaded.shape;
  launch.parameters = ConvParameters(setup.op, *loaded.shape);
  const bool is_gemm = MakeGemm(launch.parameters);
  CutIntoItems(loaded.device->traits(), launch.parameters.weight_groups, &launch);
  TENON_RETURN_IF_ERROR(opened->kernel.Create(loaded.program, is_gemm ? "gemm_tile" : "conv_tile"));
  *state = opened.release();
  return OkStatus();
}

Status ConvTileRun(const KernelCall& call) {
  auto& opened = *static_cast<OpenedTile*>(call.state);
  const LoadedTile& loaded = *opened.loaded;
  Launch launch(call, opened.kernel, loaded.constants);
  launch.Input(ConvInput::kX).Table(loaded.weights).Output().Input(ConvInput::kResidual);
  return EnqueueTile(launch, opened.launch);
}

}  // namespace tenon::opencl
