// The one place that names backends.
#include "backends/cpu/cpu_backend.hpp"
#include "tenon/tenon.h"

extern "C" {

const tenon_backend* tenon_backend_cpu(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuBackend());
}

const tenon_backend* tenon_backend_cpu_portable(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuPortableBackend());
}

}  // extern "C"
