// The portable kernels, by the name that tests know them by. Firmware itself has no such list.
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/backend_api/backend.hpp"
#include "tenon/tenon.h"

extern "C" const tenon_backend* tenon_backend_cpu_portable(void) {
  static const tenon::Backend kBackend = {"cpu", tenon::cpu::PortableKernels(), nullptr, nullptr};
  return reinterpret_cast<const tenon_backend*>(&kBackend);
}
