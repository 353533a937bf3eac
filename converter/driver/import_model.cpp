#include "converter/driver/import_model.hpp"

#include "converter/import/caffe/caffe_import.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/import/tflite/tflite_import.hpp"

namespace tenon::converter {

Result<Graph> ImportModel(const std::filesystem::path& path, const ImportOptions& options,
                          const ConstantFolder& fold) {
  if (path.extension() == ".prototxt") return ImportCaffe(path, options);
  if (!options.caffemodel.empty()) {
    return UsageError("--caffemodel is for the weights of a .prototxt, which {} is not",
                      path.string());
  }
  if (path.extension() == ".caffemodel") {
    return UsageError("{}: these are weights: give the .prototxt that describes their network",
                      path.string());
  }
  if (path.extension() == ".tflite" || LooksLikeTflite(path)) {
    return ImportTflite(path, options, fold);
  }
  return ImportOnnx(path, options, fold);
}

}  // namespace tenon::converter
