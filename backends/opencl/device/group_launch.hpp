// One kernel that makes all launches of a group of ops (codegen/group_source.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Is what a loaded plan has of a group.
struct LoadedGroup {
  cl_program program = nullptr;  ///< the device's
  std::vector<uint32_t> first;   ///< by launch: its first parameter
  uint32_t parameters = 0;       ///< of all launches
  bool is_cpu = false;           ///< of the device: a work-group has one work-item
};

/// Is what a queue has of it. Takes the arguments and ranges of the launches one after the other,
/// and then makes one launch of them all. Remembers arguments, so that only those that change are
/// set again.
class GroupLaunch {
 public:
  GroupLaunch() = default;
  GroupLaunch(const GroupLaunch&) = delete;
  GroupLaunch& operator=(const GroupLaunch&) = delete;
  ~GroupLaunch();

  Status Open(const LoadedGroup& loaded);
  void Begin() { next_ = 0; }
  /// Sets argument `index` of the launch that comes next.
  Status SetArgument(cl_uint index, const void* value, size_t bytes);
  /// Ends a launch: `global` is a multiple of `local` in every dimension; all zero: nothing to do.
  Status Add(const size_t (&global)[3], const size_t (&local)[3]);
  /// Errors: kCorruptPlan (the ops have made other launches than the source is for).
  Status Enqueue(cl_command_queue queue);

 private:
  struct Argument {
    std::vector<unsigned char> value;  ///< empty: never set
  };
  Status Set(cl_uint index, const void* value, size_t bytes);

  const LoadedGroup* loaded_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<Argument> arguments_;
  std::vector<size_t> groups_;  ///< by launch: work-groups
  size_t next_ = 0;
  size_t items_ = 1;  ///< of the largest work-group
};

}  // namespace tenon::opencl
