// Reads a model of any supported format into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// TFLite models are known by the extension .tflite or by how the file begins; everything else is
/// taken for ONNX. Errors as of ImportOnnx and ImportTflite.
[[nodiscard]] Result<Graph> ImportModel(const std::filesystem::path& path,
                                        const ImportOptions& options, const ConstantFolder& fold);

}  // namespace tenon::converter
