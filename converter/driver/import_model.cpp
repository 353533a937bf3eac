#include "converter/driver/import_model.hpp"

#include "converter/import/onnx/onnx_import.hpp"
#include "converter/import/tflite/tflite_import.hpp"

namespace tenon::converter {

Result<Graph> ImportModel(const std::filesystem::path& path, const ImportOptions& options,
                          const ConstantFolder& fold) {
  if (path.extension() == ".tflite" || LooksLikeTflite(path)) {
    return ImportTflite(path, options, fold);
  }
  return ImportOnnx(path, options, fold);
}

}  // namespace tenon::converter
