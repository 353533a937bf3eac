#include "backends/opencl/device/device.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/opencl/codegen/programs.hpp"
#include "backends/opencl/device/cl_error.hpp"
#include "backends/opencl/device/program_cache.hpp"

namespace tenon::opencl {
namespace {

constexpr char kPrelude[] = "prelude.cl";
constexpr int kVectors[] = {4, 8, 16};
constexpr int kRowGroups[] = {1, 16, 64};

/// What the compiler says, short enough for a message.
std::string BuildLog(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  Cl().GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (bytes != 0) {
    Cl().GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  }
  constexpr size_t kMost = 1000;
  const size_t end = log.find('\0');
  log.resize(end < kMost ? end : (log.size() < kMost ? log.size() : kMost));
  return log;
}

/// The first `cores` cores of `device` as a device of its own; null where it cannot be had. Made
/// once and kept as long as the program runs, as devices that are whole are: a driver's thread may
/// still look at the device for a moment after the last command on it has been reported done.
cl_device_id TakeCores(cl_device_id device, int cores) {
  static std::mutex mutex;
  static std::map<std::pair<cl_device_id, int>, cl_device_id> taken;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = taken.find({device, cores});
  if (found != taken.end()) return found->second;
  const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_BY_COUNTS, cores,
                                                     CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  cl_device_id part = nullptr;
  cl_uint count = 0;
  const cl_int code = Cl().CreateSubDevices(device, properties, 1, &part, &count);
  if (code != CL_SUCCESS || count != 1) return nullptr;
  taken.emplace(std::pair(device, cores), part);
  return part;
}

}  // namespace

Device::~Device() {
  if (is_left_) return;
  for (const auto& [key, program] : programs_) Cl().ReleaseProgram(program);
  if (context_ != nullptr) Cl().ReleaseContext(context_);
}

Status Device::Open(int threads) {
  TENON_ENSURE(FindClFunctions() != nullptr, kUnsupported,
               "there is no OpenCL library: looked for libOpenCL.so.1, or what "
               "TENON_OPENCL_LIBRARY names, with all of OpenCL 1.2; install an ICD loader");
  TENON_RETURN_IF_ERROR(ChooseDevice(&id_));
  traits_ = ReadTraits(id_);
  TENON_RETURN_IF_ERROR(ChooseKind());
  TENON_RETURN_IF_ERROR(ChooseTransfer());
  TENON_RETURN_IF_ERROR(ChooseVector());
  TENON_RETURN_IF_ERROR(ChooseRowGroup());
  if (traits_.is_cpu && threads < traits_.compute_units) {
    if (cl_device_id part = TakeCores(id_, threads); part != nullptr) {
      id_ = part;
      traits_.compute_units = threads;
    }
  }
  cl_int code = CL_SUCCESS;
  context_ = Cl().CreateContext(nullptr, 1, &id_, nullptr, nullptr, &code);
  return ClStatus(code, "clCreateContext");
}

Status Device::ChooseKind() {
  const char* variable = std::getenv("TENON_OPENCL_KIND");
  if (variable == nullptr || variable[0] == '\0') return OkStatus();
  TENON_ENSURE(std::strcmp(variable, "gpu") == 0, kUnsupported, "TENON_OPENCL_KIND must be gpu");
  UseAsGpu(&traits_);
  return OkStatus();
}

Status Device::ChooseTransfer() {
  transfer_ = traits_.is_cpu          ? Transfer::kNone
              : traits_.shares_memory ? Transfer::kMap
                                      : Transfer::kCopy;
  const char* variable = std::getenv("TENON_OPENCL_TRANSFER");
  if (variable == nullptr || variable[0] == '\0') return OkStatus();
  if (std::strcmp(variable, "copy") == 0) {
    transfer_ = Transfer::kCopy;
  } else if (std::strcmp(variable, "map") == 0) {
    transfer_ = Transfer::kMap;
  } else {
    TENON_ENSURE(std::strcmp(variable, "none") == 0, kUnsupported,
                 "TENON_OPENCL_TRANSFER must be none, map or copy");
    TENON_ENSURE(traits_.is_cpu, kUnsupported,
                 "TENON_OPENCL_TRANSFER=none needs a device that is made of the host's cores");
    transfer_ = Transfer::kNone;
  }
  return OkStatus();
}

Status Device::ChooseVector() {
  const char* variable = std::getenv("TENON_OPENCL_VECTOR");
  if (variable == nullptr || variable[0] == '\0') return OkStatus();
  for (const int floats : kVectors) {
    if (std::to_string(floats) != variable) continue;
    traits_.vector_floats = floats;
    return OkStatus();
  }
  return Status(StatusCode::kUnsupported, "TENON_OPENCL_VECTOR must be 4, 8 or 16");
}

Status Device::ChooseRowGroup() {
  const char* variable = std::getenv("TENON_OPENCL_ROW_GROUP");
  if (variable == nullptr || variable[0] == '\0') return OkStatus();
  for (const int items : kRowGroups) {
    if (std::to_string(items) != variable) continue;
    traits_.row_group = items;
    return OkStatus();
  }
  return Status(StatusCode::kUnsupported, "TENON_OPENCL_ROW_GROUP must be 1, 16 or 64");
}

std::string Device::CommonOptions() const {
  std::string options =
      "-cl-std=CL1.2 -DDTYPE=float -DVEC=" + std::to_string(traits_.vector_floats);
  options += " -DPIECE=" + std::to_string(traits_.vector_floats * traits_.piece_vectors);
  if (traits_.is_cpu) options += " -DON_CPU";
  if (traits_.has_local_memory) options += " -DLOCAL_MEMORY";
  const char* more = std::getenv("TENON_OPENCL_OPTIONS");
  if (more != nullptr && more[0] != '\0') options += std::string(" ") + more;
  return options;
}

Status Device::FindProgram(const char* file, const std::string& options, cl_program* program) {
  const char* source = FindKernelSource(file);
  const char* prelude = FindKernelSource(kPrelude);
  if (source == nullptr || prelude == nullptr) {
    return Status(StatusCode::kBackendFailure, "there is no kernel source '{s}'")
        .About(KeepText(file));
  }
  const std::string all = options.empty() ? CommonOptions() : CommonOptions() + " " + options;
  return FindBuilt(std::string(file) + " " + options, std::string(prelude) + source, all, program)
      .About(KeepText(file));
}

Status Device::FindGroupProgram(const char* source, cl_program* program) {
  const std::string all = FindKernelSource(kPrelude) + std::string(source);
  return FindBuilt(source, all, CommonOptions(), program).About("a group of ops");
}

Status Device::FindBuilt(const std::string& key, const std::string& source,
                         const std::string& options, cl_program* program) {
  const std::lock_guard<std::mutex> lock(programs_mutex_);
  const auto found = programs_.find(key);
  if (found != programs_.end()) {
    *program = found->second;
    return OkStatus();
  }
  cl_program built = nullptr;
  TENON_RETURN_IF_ERROR(Build(source, options, &built));
  programs_.emplace(key, built);
  *program = built;
  return OkStatus();
}

Status Device::Build(const std::string& source, const std::string& options,
                     cl_program* program) const {
  const ProgramCache cache(traits_, source, options);
  cl_program cached = cache.Load(context_, id_, options);
  if (cached != nullptr) {
    *program = cached;
    return OkStatus();
  }
  const char* text = source.c_str();
  const size_t bytes = source.size();
  cl_int code = CL_SUCCESS;
  cl_program built = Cl().CreateProgramWithSource(context_, 1, &text, &bytes, &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateProgramWithSource"));
  code = Cl().BuildProgram(built, 1, &id_, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    const std::string message =
        std::string("{s}: ") + ClErrorName(code) + ": " + BuildLog(built, id_);
    Cl().ReleaseProgram(built);
    return Status(StatusCode::kBackendFailure, KeepText(message.c_str()));
  }
  cache.Store(built);
  *program = built;
  return OkStatus();
}

}  // namespace tenon::opencl
