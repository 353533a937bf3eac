#include "backends/opencl/device/group_launch.hpp"

#include <algorithm>
#include <cstring>

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
  if (kernel_ != nullptr) Cl().ReleaseKernel(kernel_);
}

Status GroupLaunch::Open(const LoadedGroup& loaded) {
  loaded_ = &loaded;
  arguments_.resize(loaded.parameters);
  for (Argument& argument : arguments_) argument.value.reserve(kMostArgumentBytes);
  groups_.resize(loaded.first.size());
  cl_int code = CL_SUCCESS;
  kernel_ = Cl().CreateKernel(loaded.program, "group", &code);
  return ClStatus(code, "clCreateKernel");
}

Status GroupLaunch::SetArgument(cl_uint index, const void* value, size_t bytes) {
  TENON_ENSURE(next_ < loaded_->first.size(), kCorruptPlan, kOtherLaunches,
               static_cast<int64_t>(loaded_->first.size()), static_cast<int64_t>(next_ + 1));
  return Set(loaded_->first[next_] + index, value, bytes);
}

Status GroupLaunch::Set(cl_uint index, const void* value, size_t bytes) {
  static constexpr unsigned char kNull[sizeof(cl_mem)] = {};
  const auto* const compared = static_cast<const unsigned char*>(value != nullptr ? value : kNull);
  TENON_ENSURE(index < arguments_.size() && bytes <= kMostArgumentBytes, kCorruptPlan,
               "the source of a group of ops has no parameter {0} of {1} bytes", index,
               static_cast<int64_t>(bytes));
  std::vector<unsigned char>& known = arguments_[index].value;
  if (known.size() == bytes && std::memcmp(known.data(), compared, bytes) == 0) return OkStatus();
  TENON_RETURN_IF_ERROR(TENON_CL(SetKernelArg, kernel_, index, bytes, value));
  known.assign(compared, compared + bytes);
  return OkStatus();
}

Status GroupLaunch::Add(const size_t (&global)[3], const size_t (&local)[3]) {
  TENON_ENSURE(next_ < loaded_->first.size(), kCorruptPlan, kOtherLaunches,
               static_cast<int64_t>(loaded_->first.size()), static_cast<int64_t>(next_ + 1));
  Counts groups = {{1, 1, 1, 1}};
  Counts items = {{1, 1, 1, 1}};
  for (int k = 0; k < 3; ++k) {
    groups.v[k] = static_cast<int32_t>(global[k] / local[k]);
    items.v[k] = static_cast<int32_t>(local[k]);
    groups.v[3] *= groups.v[k];
    items.v[3] *= items.v[k];
  }
  const size_t end =
      next_ + 1 < loaded_->first.size() ? loaded_->first[next_ + 1] : loaded_->parameters;
  TENON_RETURN_IF_ERROR(Set(static_cast<cl_uint>(end - 2), &groups, sizeof groups));
  TENON_RETURN_IF_ERROR(Set(static_cast<cl_uint>(end - 1), &items, sizeof items));
  groups_[next_++] = static_cast<size_t>(groups.v[3]);
  items_ = std::max(items_, static_cast<size_t>(items.v[3]));
  return OkStatus();
}

Status GroupLaunch::Enqueue(cl_command_queue queue) {
  TENON_ENSURE(next_ == loaded_->first.size(), kCorruptPlan, kOtherLaunches,
               static_cast<int64_t>(loaded_->first.size()), static_cast<int64_t>(next_));
  size_t groups = 0;
  for (const size_t count : groups_) groups += count;
  if (groups == 0) return OkStatus();
  const size_t local = loaded_->is_cpu ? 1 : items_;
  const size_t global = groups * local;
  return TENON_CL(EnqueueNDRangeKernel, queue, kernel_, 1, nullptr, &global, &local, 0, nullptr,
                  nullptr);
}

}  // namespace tenon::opencl
