/* What Frama-C proves: whatever 512 bytes a file has, verifying them as a FlatBuffer reads inside
 * the file, overflows no index and ends. The other parts of the second check rely on it. */
#include "__fc_builtin.h"
#include "tests/second_check/flatbuffer.h"

enum { BYTES = 512, DEEPEST = 4 };
static uint8_t file[BYTES];

int main(void) {
  Frama_C_make_unknown((char*)file, BYTES);
  struct flat flat = {file, BYTES, BYTES / 8};
  return flat_verify(&flat, 0, PLAN, UINT32_MAX, DEEPEST);
}
