// The host code of conv_tile.cl and conv_tile_local.cl: it packs, loads and launches register tiles
// for convolutions and matrix products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "backends/opencl/codegen/tile_parameters.hpp"
#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

/// Returns them in the order that tiles read, followed by the zeros.
[[nodiscard]] std::vector<float> PackForTiles(const MatrixView& matrix, int width);

/// Is what `load` makes for a kernel that is one launch of a tile function.
struct LoadedTile {
  Device* device = nullptr;
  cl_program program = nullptr;  ///< the device's
  const TileShape* shape = nullptr;
  DeviceBuffer weights;                 ///< packed; without memory where they are no constants
  std::vector<DeviceBuffer> constants;  ///< by input, as they lie; see LoadedOp
};

/// How a tile function is launched.
struct TileLaunch {
  const TileShape* shape = nullptr;
  TileParameters parameters;
  Range global = {1};
  Range local = {1};
};

/// Is what `open` makes of it.
struct OpenedTile {
  const LoadedTile* loaded = nullptr;
  Kernel kernel;
  TileLaunch launch;
};

/// Builds the program for tiles of this shape with this activation. `any_layout` is for conv_tile
/// with an input whose channels need not be contiguous.
Status FindTileProgram(Device& device, const TileShape& shape, const Activation& activation,
                       bool any_layout, cl_program* program);

/// Cuts the launch of a tile function into work-items: sets the ranges, and `tiles_per_item` so
/// that the device is busy. `groups` are those of the GEMM.
void CutIntoItems(const DeviceTraits& traits, int32_t groups, TileLaunch* launch);

/// Sets the last parameters of a tile function, and enqueues it.
Status EnqueueTile(Launch& launch, const TileLaunch& how);

/// Has the bits of the inputs that are packed: weights and bias.
inline constexpr uint32_t kPackedInputs = 0b110;
/// Uploads the other constant inputs unchanged.
Status UploadConstants(const OpCall& op, const Device& device, uint32_t packed_inputs,
                       std::vector<DeviceBuffer>* constants);

/// Are KernelEntry::close, unload and held_bytes of kernels with these two.
void CloseTile(void* state);
void UnloadTile(void* shared);
size_t TileHeldBytes(const void* shared, const void* state);

}  // namespace tenon::opencl
