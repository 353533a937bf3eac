// The one place that names backends.
#include <cstring>
#include <iterator>

#include "backends/cpu/cpu_backend.hpp"
#ifdef TENON_BACKEND_MODULES
#include "sdk/src/backend_modules.hpp"
#endif
#ifdef TENON_HAS_OPENCL
#include "backends/opencl/opencl_backend.hpp"
#endif
#ifdef TENON_HAS_FPGA
#include "backends/fpga/fpga_backend.hpp"
#endif
#include "runtime/engine/loaded_plan.hpp"
#include "tenon/tenon.h"

extern "C" {

const tenon_backend* tenon_backend_cpu(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuBackend());
}

const tenon_backend* tenon_backend_cpu_portable(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuPortableBackend());
}

const tenon_backend* tenon_backend_opencl(void) {
#if defined(TENON_BACKEND_MODULES)
  return tenon::sdk::OpenclModule();
#elif defined(TENON_HAS_OPENCL)
  return reinterpret_cast<const tenon_backend*>(&tenon::opencl::OpenclBackend());
#else
  return nullptr;
#endif
}

const tenon_backend* tenon_backend_fpga(void) {
#if defined(TENON_BACKEND_MODULES)
  return tenon::sdk::FpgaModule();
#elif defined(TENON_HAS_FPGA)
  return reinterpret_cast<const tenon_backend*>(&tenon::fpga::FpgaBackend());
#else
  return nullptr;
#endif
}

size_t tenon_every_backend(const tenon_backend** backends, size_t room) {
  size_t count = 0;
  for (const tenon_backend* backend :
       {tenon_backend_cpu(), tenon_backend_opencl(), tenon_backend_fpga()}) {
    if (backend == nullptr) continue;  // this build lacks it
    if (backends != nullptr && count < room) backends[count] = backend;
    ++count;
  }
  return count;
}

const tenon_backend* tenon_backend_named(const char* name) {
  const tenon_backend* backends[tenon::kMaxBackends] = {};
  const size_t count = tenon_every_backend(backends, std::size(backends));
  for (size_t i = 0; name != nullptr && i < count; ++i) {
    if (std::strcmp(backends[i]->name, name) == 0) return backends[i];
  }
  return nullptr;
}

}  // extern "C"
