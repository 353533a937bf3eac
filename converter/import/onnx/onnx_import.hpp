// Reads an ONNX model into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// Loads, checks (onnx checker and shape inference) and lowers the model to Tenon's ops.
/// Reads external data files beside the model. Initialisers that are also graph inputs are
/// constants unless named by `shapes`.
/// Errors (kInput): unreadable or malformed file; unsupported ops, all of them at once with the
/// nodes that use them; a dimension that stays unknown (says which option gives it a value);
/// data-dependent shapes and control flow.
[[nodiscard]] Result<Graph> ImportOnnx(const std::filesystem::path& path,
                                       const ImportOptions& options, const ConstantFolder& fold);

}  // namespace tenon::converter
