// What every importer is told, whatever the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Computes the values of constant tensors: given a graph and tensors that depend on constants
/// only, turns each into a constant. Injected, because evaluation runs the kernels.
using ConstantFolder = std::function<Status(Graph& graph, const std::vector<TensorId>& tensors)>;

struct ImportOptions {
  /// Value for a symbolic or free first dimension of every input (`--batch`); 0: leave.
  int64_t batch = 0;
  /// Full shape per input name (`--shape`).
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Inputs to turn into constants (`--freeze`): dtype, shape and raw row-major bytes.
  struct Frozen {
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Frozen> freeze;
};

}  // namespace tenon::converter
