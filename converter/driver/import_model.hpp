// Reads a model of any supported format into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// Recognises TFLite models by the extension .tflite or by the file's first bytes; treats
/// everything else as ONNX. Errors as of ImportOnnx and ImportTflite.
[[nodiscard]] Result<Graph> ImportModel(const std::filesystem::path& path,
                                        const ImportOptions& options, const ConstantFolder& fold);

}  // namespace tenon::converter
