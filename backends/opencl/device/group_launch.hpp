// The kernels, one for each phase, that make all launches of a group of ops
// (codegen/group_source.hpp).
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
  struct Launch {
    uint32_t phase = 0;
    uint32_t first = 0;  ///< of its parameters, among those of the phase's kernel
    uint32_t end = 0;
  };
  cl_program program = nullptr;      ///< the device's
  std::vector<Launch> launches;      ///< in the order in which the ops make them
  std::vector<uint32_t> parameters;  ///< by phase
  bool is_cpu = false;               ///< of the device: a work-group has one work-item
};

/// Is what a queue has of it. Takes the arguments and ranges of the launches one after the other,
/// and then makes one launch of all that are of a phase. Remembers arguments, so that only those
/// that change are set again.
class GroupLaunch {
 public:
  GroupLaunch() = default;
  GroupLaunch(const GroupLaunch&) = delete;
  GroupLaunch& operator=(const GroupLaunch&) = delete;
  ~GroupLaunch();

  Status Open(const LoadedGroup& loaded);
  void Begin();
  /// Sets argument `index` of the launch that comes next.
  Status SetArgument(cl_uint index, const void* value, size_t bytes);
  /// Ends a launch: `global` is a multiple of `local` in every dimension; all zero: nothing to do.
  Status Add(const size_t (&global)[3], const size_t (&local)[3]);
  /// Launches phase after phase: the queue keeps their order.
  /// Errors: kCorruptPlan (the ops have made other launches than the source is for).
  Status Enqueue(cl_command_queue queue);

 private:
  struct Argument {
    std::vector<unsigned char> value;  ///< empty: never set
  };
  struct Phase {
    cl_kernel kernel = nullptr;
    std::vector<Argument> arguments;
    size_t groups = 0;  ///< of this run
    size_t items = 1;   ///< of the largest work-group
  };
  static Status Set(Phase& phase, cl_uint index, const void* value, size_t bytes);
  /// Errors: kCorruptPlan, more launches than the source is for.
  Status FindNext(const LoadedGroup::Launch** launch) const;

  const LoadedGroup* loaded_ = nullptr;
  std::vector<Phase> phases_;
  size_t next_ = 0;
};

}  // namespace tenon::opencl
