// Caffe networks: the text, a line of dashes, the weights.
#include <cstring>

#include "converter/import/caffe/caffe_import.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  constexpr char kLine[] = "\n--------\n";
  const auto* found = static_cast<const uint8_t*>(memmem(data, bytes, kLine, sizeof kLine - 1));
  const size_t text = found == nullptr ? bytes : static_cast<size_t>(found - data);
  const size_t weights = found == nullptr ? bytes : text + sizeof kLine - 1;
  const tenon::fuzz::FuzzFile text_file(data, text);
  const tenon::fuzz::FuzzFile weights_file(data + weights, bytes - weights);
  tenon::converter::ImportOptions options = tenon::fuzz::FuzzImportOptions();
  options.caffemodel = weights_file.path();
  (void)tenon::converter::ImportCaffe(text_file.path(), options);
  return 0;
}
