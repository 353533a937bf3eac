// Firmware's check takes what the fuzzer of plans makes, and changes of bytes with check sums
// mended.
#include "tests/fuzz/targets/plan_mutator.hpp"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned) {
  return tenon::fuzz::MutateBytes(data, bytes, most);
}
