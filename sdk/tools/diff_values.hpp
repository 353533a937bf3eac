// What each op of a plan computes in one run, seen as soon as it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sdk/tools/npy.hpp"

namespace tenon::tool {

/// A tensor that an op wrote, dense, in the model's own order of dimensions.
struct SeenTensor {
  std::string name;
  tenon_dtype dtype = TENON_F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  size_t op = 0;  ///< that wrote it
};

struct SeenOp {
  std::string name;
  std::string kind;
  std::string backend;
  std::string kernel;
};

struct SeenRun {
  std::vector<SeenOp> ops;          ///< by number
  std::vector<SeenTensor> tensors;  ///< in the order in which they were written
  std::vector<SeenTensor> outputs;  ///< of the plan, by name of the port; `op` has no meaning
  size_t unseen = 0;                ///< ops inside segments that a device runs as one piece of code
};

/// What is to be run, and by what.
struct RunToSee {
  std::string plan;                 ///< path
  std::vector<std::string> inputs;  ///< NAME=FILE.npy
  enum class Kernels {
    kPlanned,   ///< of the backends that the plan names
    kPortable,  ///< the CPU's portable ones; a plan with devices is refused
    kReference  ///< the same, which stand in for the kernels of devices too
  };
  Kernels kernels = Kernels::kPlanned;
  /// Used instead of this build's, if there are any.
  std::vector<const tenon_backend*> backends;
};

/// Runs a plan once. Inputs that are not given are made: the same for ports of the same type and
/// size. Throws Failure.
[[nodiscard]] SeenRun RunAndSee(const RunToSee& run);

}  // namespace tenon::tool
