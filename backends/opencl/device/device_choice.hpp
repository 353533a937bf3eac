// Chooses the OpenCL device on which a plan runs.
#pragma once

#include <cstddef>
#include <string>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Contains what a device reports about itself.
struct DeviceTraits {
  std::string name;
  std::string version;  ///< "OpenCL 3.0 ..."
  std::string driver;
  std::string platform;
  bool is_cpu = false;  ///< consists of the host's cores: its memory is the host's, caches and all
  bool shares_memory = false;  ///< works in the host's memory without copies
  bool has_half = false;       ///< cl_khr_fp16
  int vector_floats = 4;       ///< floats that a work-item does best to handle at once: 4, 8 or 16
  int piece_vectors = 1;  ///< how many of those one after the other: many, where starting costs
  int row_group = 1;      ///< work-items that share a row that is reduced: 1 on a CPU
  bool has_local_memory = false;  ///< of its own, which is faster than what all share
  int compute_units = 1;
  size_t most_work_items = 1;  ///< of one work-group
  size_t most_buffer_bytes = 0;
  size_t local_bytes = 0;

  [[nodiscard]] TileDevice tiles() const {
    if (is_cpu) return TileDevice::kCpu;
    return has_local_memory ? TileDevice::kLocalMemory : TileDevice::kOther;
  }
};

/// Makes a device of any kind be used as a GPU with local memory of its own is: for tests.
void UseAsGpu(DeviceTraits* traits);

/// Returns the text that a device or platform gives for `parameter`; empty where it gives none.
[[nodiscard]] std::string DeviceText(cl_device_id device, cl_device_info parameter);
[[nodiscard]] DeviceTraits ReadTraits(cl_device_id device);

/// Chooses the first device with TENON_OPENCL_DEVICE in its own or its platform's name (upper and
/// lower case are equal); without that variable the first GPU, else the first accelerator, else the
/// first CPU. Only devices count that are available, compile source and have OpenCL 1.2 or later.
/// Errors: kUnsupported, with what was looked for and how many devices were seen.
Status ChooseDevice(cl_device_id* device);

}  // namespace tenon::opencl
