// Reads a model of any supported format into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// Recognises Caffe networks by the extension .prototxt, TFLite models by the extension .tflite or
/// by the file's first bytes; treats everything else as ONNX. Errors as of ImportOnnx, ImportTflite
/// and ImportCaffe; kUsage: weights of Caffe given as the model, or beside a model that is not
/// Caffe's.
[[nodiscard]] Result<Graph> ImportModel(const std::filesystem::path& path,
                                        const ImportOptions& options, const ConstantFolder& fold);

}  // namespace tenon::converter
