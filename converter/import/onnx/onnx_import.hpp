// Reads an ONNX model into a Graph.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

// Compares our shapes with those that libonnx infers: a check of the importer by code that shares
// nothing with it. For tests; libonnx's inference is not meant for files from outside.

/// Imports like ImportOnnx, then appends one line to `differences` for every value of the model
/// whose dtype or dims libonnx infers otherwise.
[[nodiscard]] Result<Graph> ImportOnnxCrossChecked(const std::filesystem::path& path,
                                                   const ImportOptions& options,
                                                   const ConstantFolder& fold,
                                                   std::vector<std::string>& differences);

}  // namespace tenon::converter
