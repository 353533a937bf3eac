// The one place that names backends.
#include "backends/cpu/cpu_backend.hpp"
#ifdef TENON_HAS_OPENCL
#include "backends/opencl/opencl_backend.hpp"
#endif
#ifdef TENON_HAS_FPGA
#include "backends/fpga/fpga_backend.hpp"
#endif
#include "tenon/tenon.h"

extern "C" {

const tenon_backend* tenon_backend_cpu(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuBackend());
}

const tenon_backend* tenon_backend_cpu_portable(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::cpu::CpuPortableBackend());
}

const tenon_backend* tenon_backend_opencl(void) {
#ifdef TENON_HAS_OPENCL
  return reinterpret_cast<const tenon_backend*>(&tenon::opencl::OpenclBackend());
#else
  return nullptr;
#endif
}

const tenon_backend* tenon_backend_fpga(void) {
#ifdef TENON_HAS_FPGA
  return reinterpret_cast<const tenon_backend*>(&tenon::fpga::FpgaBackend());
#else
  return nullptr;
#endif
}

}  // extern "C"
