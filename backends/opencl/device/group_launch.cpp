#include "backends/opencl/device/group_launch.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "backends/opencl/codegen/group_source.hpp"
#include "backends/opencl/device/cl_error.hpp"

namespace tenon::opencl {
namespace {

constexpr char kOtherLaunches[] =
    "the source of a group of ops is for {0} launches, its ops have made {1}";
/// No argument has more (Kernel::kMostArgumentBytes).
constexpr size_t kMostArgumentBytes = 256;

/// Of three dimensions, and of all together: an int4 of the kernel.
struct Counts {
  int32_t v[4];
};

}  // namespace

GroupLaunch::~GroupLaunch() {
  for (const Phase& phase : phases_) {
    if (phase.kernel != nullptr) Cl().ReleaseKernel(phase.kernel);
  }
}

Status GroupLaunch::Open(const LoadedGroup& loaded) {
  loaded_ = &loaded;
  phases_.resize(loaded.parameters.size());
  for (size_t i = 0; i < phases_.size(); ++i) {
    Phase& phase = phases_[i];
    phase.arguments.resize(loaded.parameters[i]);
    for (Argument& argument : phase.arguments) argument.value.reserve(kMostArgumentBytes);
    cl_int code = CL_SUCCESS;
    const std::string name = GroupKernelName(static_cast<uint32_t>(i));
    phase.kernel = Cl().CreateKernel(loaded.program, name.c_str(), &code);
    TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateKernel"));
  }
  return OkStatus();
}

void GroupLaunch::Begin() {
  next_ = 0;
  for (Phase& phase : phases_) {
    phase.groups = 0;
    phase.items = 1;
  }
}

Status GroupLaunch::FindNext(const LoadedGroup::Launch** launch) const {
  TENON_ENSURE(next_ < loaded_->launches.size(), kCorruptPlan, kOtherLaunches,
               static_cast<int64_t>(loaded_->launches.size()), static_cast<int64_t>(next_ + 1));
  *launch = &loaded_->launches[next_];
  return OkStatus();
}

Status GroupLaunch::SetArgument(cl_uint index, const void* value, size_t bytes) {
  const LoadedGroup::Launch* launch = nullptr;
  TENON_RETURN_IF_ERROR(FindNext(&launch));
  return Set(phases_[launch->phase], launch->first + index, value, bytes);
}

Status GroupLaunch::Set(Phase& phase, cl_uint index, const void* value, size_t bytes) {
  static constexpr unsigned char kNull[sizeof(cl_mem)] = {};
  const auto* const compared = static_cast<const unsigned char*>(value != nullptr ? value : kNull);
  TENON_ENSURE(index < phase.arguments.size() && bytes <= kMostArgumentBytes, kCorruptPlan,
               "the source of a group of ops has no parameter {0} of {1} bytes", index,
               static_cast<int64_t>(bytes));
  std::vector<unsigned char>& known = phase.arguments[index].value;
  if (known.size() == bytes && std::memcmp(known.data(), compared, bytes) == 0) return OkStatus();
  TENON_RETURN_IF_ERROR(TENON_CL(SetKernelArg, phase.kernel, index, bytes, value));
  known.assign(compared, compared + bytes);
  return OkStatus();
}

Status GroupLaunch::Add(const size_t (&global)[3], const size_t (&local)[3]) {
  const LoadedGroup::Launch* launch = nullptr;
  TENON_RETURN_IF_ERROR(FindNext(&launch));
  Counts groups = {{1, 1, 1, 1}};
  Counts items = {{1, 1, 1, 1}};
  for (int k = 0; k < 3; ++k) {
    groups.v[k] = static_cast<int32_t>(global[k] / local[k]);
    items.v[k] = static_cast<int32_t>(local[k]);
    groups.v[3] *= groups.v[k];
    items.v[3] *= items.v[k];
  }
  Phase& phase = phases_[launch->phase];
  TENON_RETURN_IF_ERROR(Set(phase, launch->end - 2, &groups, sizeof groups));
  TENON_RETURN_IF_ERROR(Set(phase, launch->end - 1, &items, sizeof items));
  phase.groups += static_cast<size_t>(groups.v[3]);
  phase.items = std::max(phase.items, static_cast<size_t>(items.v[3]));
  ++next_;
  return OkStatus();
}

Status GroupLaunch::Enqueue(cl_command_queue queue) {
  TENON_ENSURE(next_ == loaded_->launches.size(), kCorruptPlan, kOtherLaunches,
               static_cast<int64_t>(loaded_->launches.size()), static_cast<int64_t>(next_));
  for (const Phase& phase : phases_) {
    if (phase.groups == 0) continue;
    const size_t local = loaded_->is_cpu ? 1 : phase.items;
    const size_t global = phase.groups * local;
    TENON_RETURN_IF_ERROR(TENON_CL(EnqueueNDRangeKernel, queue, phase.kernel, 1, nullptr, &global,
                                   &local, 0, nullptr, nullptr));
  }
  return OkStatus();
}

}  // namespace tenon::opencl
