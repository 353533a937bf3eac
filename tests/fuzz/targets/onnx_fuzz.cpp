// ONNX files through the importer, which folds what shapes depend on: a graph or an error.
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"
#include "tests/fuzz/targets/model_changes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  (void)tenon::converter::ImportOnnx(file.path(), tenon::fuzz::FuzzImportOptions(),
                                     tenon::converter::FoldTensors);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  return tenon::fuzz::ChangeModel(data, bytes, most, random);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  return tenon::fuzz::JoinModels(first, first_bytes, second, second_bytes, out, most, random);
}
