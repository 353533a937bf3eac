// The version of the library, as against that of the headers.
#include "tenon/tenon.h"
#include "tenon/version.h"

#define TENON_TEXT_OF(number) #number
#define TENON_JOIN(major, minor, patch) \
  TENON_TEXT_OF(major) "." TENON_TEXT_OF(minor) "." TENON_TEXT_OF(patch)

extern "C" {

const char* tenon_version(void) {
  return TENON_JOIN(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH);
}

uint32_t tenon_version_number(void) { return TENON_VERSION_NUMBER; }

}  // extern "C"
