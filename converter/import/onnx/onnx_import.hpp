// Reads an ONNX model into a Graph.
#pragma once

#include <filesystem>
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

/// Loads, checks (onnx checker and shape inference) and lowers the model to Tenon's ops.
/// Reads external data files beside the model. Initialisers that are also graph inputs are
/// constants unless named by `shapes`.
/// Errors (kInput): unreadable or malformed file; unsupported ops, all of them at once with the
/// nodes that use them; a dimension that stays unknown (says which option gives it a value);
/// data-dependent shapes and control flow.
[[nodiscard]] Result<Graph> ImportOnnx(const std::filesystem::path& path,
                                       const ImportOptions& options, const ConstantFolder& fold);

}  // namespace tenon::converter
