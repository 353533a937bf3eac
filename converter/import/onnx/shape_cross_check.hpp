// Compares our shapes with those that libonnx infers: a check of the importer by code that shares
// nothing with it. For tests; libonnx's inference is not meant for files from outside.
#pragma once

#include <string>
#include <vector>

#include "converter/import/onnx/onnx_import.hpp"

namespace tenon::converter {

/// Imports like ImportOnnx, then appends one line to `differences` for every value of the model
/// whose dtype or dims libonnx infers otherwise.
[[nodiscard]] Result<Graph> ImportOnnxCrossChecked(const std::filesystem::path& path,
                                                   const ImportOptions& options,
                                                   const ConstantFolder& fold,
                                                   std::vector<std::string>& differences);

}  // namespace tenon::converter
