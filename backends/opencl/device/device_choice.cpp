#include "backends/opencl/device/device_choice.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/opencl/device/cl_error.hpp"

namespace tenon::opencl {
namespace {

/// Work-items of a group that reduces a row: as many as GPUs run in step, or twice as many.
constexpr int kRowGroupItems = 64;

template <typename T>
T DeviceValue(cl_device_id device, cl_device_info parameter) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): some are handles
  if (Cl().GetDeviceInfo(device, parameter, sizeof(T), &value, nullptr) != CL_SUCCESS) {
    return T{};
  }
  return value;
}

std::string PlatformText(cl_platform_id platform, cl_platform_info parameter) {
  size_t bytes = 0;
  if (Cl().GetPlatformInfo(platform, parameter, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) {
    return {};
  }
  std::string text(bytes, '\0');
  Cl().GetPlatformInfo(platform, parameter, bytes, text.data(), nullptr);
  text.resize(bytes - 1);  // the NUL
  return text;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool Contains(const std::string& text, const std::string& part) {
  return Lower(text).find(Lower(part)) != std::string::npos;
}

/// OpenCL 1.2 or later.
bool IsRecent(const std::string& version) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 2);
}

bool IsUsable(cl_device_id device) {
  return DeviceValue<cl_bool>(device, CL_DEVICE_AVAILABLE) == CL_TRUE &&
         DeviceValue<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE &&
         DeviceValue<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE) == CL_TRUE &&
         IsRecent(DeviceText(device, CL_DEVICE_VERSION));
}

/// Smaller is better.
int Rank(cl_device_id device) {
  const auto type = DeviceValue<cl_device_type>(device, CL_DEVICE_TYPE);
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return 0;
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return 1;
  return 2;
}

std::vector<cl_device_id> DevicesOf(cl_platform_id platform) {
  cl_uint count = 0;
  if (Cl().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices(count);
  Cl().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  return devices;
}

/// True if every tile in local memory finds as much as it takes.
bool HasRoomForTiles(const DeviceTraits& traits) {
  const Span<const TileShape> shapes = TileShapes();
  return std::all_of(shapes.begin(), shapes.end(), [&](const TileShape& shape) {
    return !shape.IsLocal() ||
           (static_cast<size_t>(shape.local_floats()) * sizeof(float) <= traits.local_bytes &&
            static_cast<size_t>(shape.items()) <= traits.most_work_items);
  });
}

}  // namespace

std::string DeviceText(cl_device_id device, cl_device_info parameter) {
  size_t bytes = 0;
  if (Cl().GetDeviceInfo(device, parameter, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) {
    return {};
  }
  std::string text(bytes, '\0');
  Cl().GetDeviceInfo(device, parameter, bytes, text.data(), nullptr);
  text.resize(bytes - 1);  // the NUL
  return text;
}

DeviceTraits ReadTraits(cl_device_id device) {
  DeviceTraits traits;
  traits.name = DeviceText(device, CL_DEVICE_NAME);
  traits.version = DeviceText(device, CL_DEVICE_VERSION);
  traits.driver = DeviceText(device, CL_DRIVER_VERSION);
  const auto platform = DeviceValue<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  traits.platform =
      PlatformText(platform, CL_PLATFORM_NAME) + " " + PlatformText(platform, CL_PLATFORM_VERSION);
  // Simulators say that they are everything.
  const auto type = DeviceValue<cl_device_type>(device, CL_DEVICE_TYPE);
  traits.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0 &&
                  (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) == 0;
  traits.shares_memory =
      traits.is_cpu || DeviceValue<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  traits.has_half = Contains(DeviceText(device, CL_DEVICE_EXTENSIONS), "cl_khr_fp16");
  const auto floats = DeviceValue<cl_uint>(device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
  traits.vector_floats = floats >= 16 ? 16 : floats >= 8 ? 8 : 4;
  traits.piece_vectors = traits.is_cpu ? 16 : 1;
  traits.compute_units =
      std::max(1, static_cast<int>(DeviceValue<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS)));
  traits.most_work_items = DeviceValue<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  // A work-group is one thread of a CPU, which only has more to do if it passes sums along.
  if (!traits.is_cpu && traits.most_work_items >= kRowGroupItems) traits.row_group = kRowGroupItems;
  traits.most_buffer_bytes =
      static_cast<size_t>(DeviceValue<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  traits.local_bytes = static_cast<size_t>(DeviceValue<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  const auto local = DeviceValue<cl_device_local_mem_type>(device, CL_DEVICE_LOCAL_MEM_TYPE);
  traits.has_local_memory = !traits.is_cpu && local == CL_LOCAL && HasRoomForTiles(traits);
  return traits;
}

void UseAsGpu(DeviceTraits* traits) {
  traits->is_cpu = false;
  traits->has_local_memory = true;
  traits->vector_floats = 4;
  traits->piece_vectors = 1;
  traits->row_group = kRowGroupItems;
}

Status ChooseDevice(cl_device_id* device) {
  const char* variable = std::getenv("TENON_OPENCL_DEVICE");
  const std::string wanted = variable != nullptr ? variable : "";
  cl_uint platform_count = 0;
  // The loader answers with an error where there is no driver.
  if (Cl().GetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) platform_count = 0;
  std::vector<cl_platform_id> platforms(platform_count);
  if (platform_count != 0) Cl().GetPlatformIDs(platform_count, platforms.data(), nullptr);
  int64_t seen = 0;
  int best_rank = 3;
  for (cl_platform_id platform : platforms) {
    const std::string platform_name = PlatformText(platform, CL_PLATFORM_NAME);
    for (cl_device_id candidate : DevicesOf(platform)) {
      ++seen;
      const bool is_wanted = wanted.empty() || Contains(platform_name, wanted) ||
                             Contains(DeviceText(candidate, CL_DEVICE_NAME), wanted);
      if (!is_wanted || !IsUsable(candidate) || Rank(candidate) >= best_rank) continue;
      // A name says which one is meant, whatever it is.
      best_rank = wanted.empty() ? Rank(candidate) : 0;
      *device = candidate;
    }
  }
  if (best_rank < 3) return OkStatus();
  if (wanted.empty()) {
    return Status(StatusCode::kUnsupported,
                  "no usable OpenCL device: looked for one with OpenCL 1.2 and a compiler among "
                  "{0} devices of {1} platforms; install a driver for the device",
                  seen, platform_count);
  }
  return Status(StatusCode::kUnsupported,
                "no usable OpenCL device has '{s}' in its name or its platform's, as "
                "TENON_OPENCL_DEVICE asks: looked at {0} devices of {1} platforms",
                seen, platform_count)
      .About(KeepText(wanted.c_str()));
}

}  // namespace tenon::opencl
