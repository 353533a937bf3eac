// TFLite files through the importer: a graph or an error.
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/tflite/tflite_import.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  (void)tenon::converter::ImportTflite(file.path(), tenon::fuzz::FuzzImportOptions(),
                                       tenon::converter::FoldTensors);
  return 0;
}
