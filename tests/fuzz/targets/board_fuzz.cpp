// Board files: a board or an error.
#include <cstddef>
#include <cstdint>

#include "converter/board/board.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  (void)tenon::converter::ParseBoard({reinterpret_cast<const char*>(data), bytes}, "board.json");
  return 0;
}
