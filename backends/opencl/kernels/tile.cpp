#include "backends/opencl/kernels/tile.hpp"

#include <algorithm>

namespace tenon::opencl {

std::vector<float> PackForTiles(const MatrixView& matrix, int width) {
  const auto lanes = static_cast<size_t>(width);
  const int32_t blocks = (matrix.columns + width - 1) / width;
  const int64_t rows = int64_t{matrix.taps_y} * matrix.taps_x * matrix.depth + 1;
  const auto block_floats = static_cast<size_t>(rows) * lanes;
  std::vector<float> packed(static_cast<size_t>(matrix.groups) * static_cast<size_t>(blocks) *
                                block_floats +
                            static_cast<size_t>(matrix.depth));
  float* to = packed.data();
  for (int64_t group = 0; group < matrix.groups; ++group) {
    for (int32_t block = 0; block < blocks; ++block) {
      const int64_t first = int64_t{block} * width;
      const int64_t count = std::min<int64_t>(width, matrix.columns - first);
      if (matrix.bias != nullptr) {
        const float* bias = matrix.bias + group * matrix.bias_group_step;
        for (int64_t i = 0; i < count; ++i) to[i] = bias[(first + i) * matrix.bias_step];
      }
      to += lanes;
      const float* from = matrix.data + group * matrix.group_step + first * matrix.column_step;
      for (int64_t tap_y = 0; tap_y < matrix.taps_y; ++tap_y) {
        for (int64_t tap_x = 0; tap_x < matrix.taps_x; ++tap_x) {
          const float* tap = from + tap_y * matrix.tap_y_step + tap_x * matrix.tap_x_step;
          for (int64_t k = 0; k < matrix.depth; ++k, to += lanes) {
            const float* row = tap + k * matrix.depth_step;
            for (int64_t i = 0; i < count; ++i) to[i] = row[i * matrix.column_step];
          }
        }
      }
    }
  }
  return packed;
}

Status FindTileProgram(Device& device, const TileShape& shape, const Activation& activation,
                       bool any_layout, cl_program* program) {
  return device.FindProgram(TileFile(shape), TileOptions(shape, activation, any_layout), program);
}

Status EnqueueTile(Launch& launch, const TileLaunch& how) {
  launch.Value(how.parameters);
  if (how.shape->IsLocal()) {
    launch.Local(static_cast<size_t>(how.shape->local_floats()) * sizeof(float));
    return launch.EnqueueTogether(how.global, how.local);
  }
  return launch.Enqueue(how.global, how.local);
}

void CutIntoItems(const DeviceTraits& traits, int32_t groups, TileLaunch* launch) {
  const TileShape& shape = *launch->shape;
  TileParameters& parameters = launch->parameters;
  const auto tiles =
      static_cast<size_t>((int64_t{parameters.pixels} + shape.pixels - 1) / shape.pixels);
  const auto blocks = static_cast<size_t>(parameters.blocks);
  const auto layers = static_cast<size_t>(groups);
  parameters.tiles_per_item = 1;
  if (shape.IsLocal()) {
    const auto items = static_cast<size_t>(shape.items());
    launch->global = Range(blocks * items, tiles, layers);
    launch->local = Range(items);
    return;
  }
  if (!traits.is_cpu) {
    // Neighbours share a block of weights.
    launch->global = Range(blocks, tiles, layers);
    launch->local = Range(1, std::min<size_t>(64, traits.most_work_items), 1);
    return;
  }
  // A work-group of one work-item costs PoCL as much as some hundred multiply-adds of vectors, so
  // each does several tiles; but there must be enough of them to keep all cores busy to the end.
  constexpr size_t kItemsPerCore = 16;
  const size_t wanted = kItemsPerCore * static_cast<size_t>(std::max(traits.compute_units, 2));
  const size_t columns = blocks * layers;
  const size_t runs = std::min(tiles, std::max<size_t>(1, (wanted + columns - 1) / columns));
  const size_t per_item = (tiles + runs - 1) / runs;
  parameters.tiles_per_item = static_cast<int32_t>(per_item);
  launch->global = Range(blocks, (tiles + per_item - 1) / per_item, layers);
  launch->local = Range(1);
}

Status UploadConstants(const OpCall& op, const Device& device, uint32_t packed_inputs,
                       std::vector<DeviceBuffer>* constants) {
  constants->resize(static_cast<size_t>(op.InputCount()));
  for (int i = 0; i < op.InputCount(); ++i) {
    if ((packed_inputs >> i & 1U) != 0 || !op.HasInput(i)) continue;
    const TensorView& input = op.Input(i);
    if (input.data == nullptr) continue;
    TENON_RETURN_IF_ERROR(
        (*constants)[static_cast<size_t>(i)].Create(device, input.data, SpanBytes(input)));
  }
  return OkStatus();
}

void CloseTile(void* state) { delete static_cast<OpenedTile*>(state); }

void UnloadTile(void* shared) { delete static_cast<LoadedTile*>(shared); }

size_t TileHeldBytes(const void* shared, const void* state) {
  size_t bytes = state != nullptr ? sizeof(OpenedTile) : 0;
  if (shared == nullptr) return bytes;
  const auto& loaded = *static_cast<const LoadedTile*>(shared);
  bytes +=
      sizeof(LoadedTile) + loaded.weights.bytes() + loaded.constants.size() * sizeof(DeviceBuffer);
  for (const DeviceBuffer& buffer : loaded.constants) bytes += buffer.bytes();
  return bytes;
}

}  // namespace tenon::opencl
