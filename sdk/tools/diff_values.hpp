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
  size_t unseen = 0;  ///< ops on devices: what they write inside a segment is not seen
};

struct DiffInputs {
  std::vector<std::string> arguments;  ///< NAME=FILE.npy
};

/// Runs a plan once. Inputs that are not given are made: the same for ports of the same type and
/// size. Throws Failure. `portable`: with the portable kernels, on the CPU.
[[nodiscard]] SeenRun RunAndSee(const std::string& path, const DiffInputs& inputs, bool portable);

}  // namespace tenon::tool
