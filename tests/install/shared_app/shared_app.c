/* A program with the shared library: says its version and the backends that it finds. */
#include <stdio.h>

#include "tenon/tenon.h"

int main(void) {
  const tenon_backend* backends[8];
  const size_t count = tenon_every_backend(backends, sizeof(backends) / sizeof *backends);
  printf("version %s, headers %d.%d.%d\n", tenon_version(), TENON_VERSION_MAJOR,
         TENON_VERSION_MINOR, TENON_VERSION_PATCH);
  for (size_t i = 0; i < count; ++i) printf("backend %s\n", backends[i]->name);
  return tenon_version_number() == TENON_VERSION_NUMBER ? 0 : 1;
}
