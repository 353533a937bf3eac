// Arrays: an array of as many bytes as its shape has elements, or a refusal.
#include "sdk/tools/npy.hpp"
#include "sdk/tools/tool.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  try {
    const tenon::tool::NpyArray array = tenon::tool::ReadNpy(file.path());
    size_t wanted = tenon_dtype_bytes(array.dtype);
    for (const int64_t dim : array.shape) wanted *= static_cast<size_t>(dim);
    if (wanted != array.bytes.size()) std::abort();
    (void)array.Description();
  } catch (const tenon::tool::Failure& failure) {
    if (failure.exit != tenon::tool::kInputRefused) std::abort();
  }
  return 0;
}
