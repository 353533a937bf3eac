// ONNX files through the importer, which folds what shapes depend on: a graph or an error.
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  tenon::converter::ImportOptions options;
  options.batch = 1;
  options.max_memory = int64_t{64} << 20;
  (void)tenon::converter::ImportOnnx(file.path(), options, tenon::converter::FoldTensors);
  return 0;
}
