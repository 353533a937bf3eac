// Profile files: a profile or an error.
#include <cstddef>
#include <cstdint>

#include "converter/profile/profile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  (void)tenon::converter::ParseProfile({reinterpret_cast<const char*>(data), bytes},
                                       "profile.json");
  return 0;
}
