// The entry of the module with this backend, for the shared library.
#include "backends/opencl/opencl_backend.hpp"
#include "tenon/tenon.h"

extern "C" TENON_API const tenon_backend* tenon_backend_module(void);

const tenon_backend* tenon_backend_module(void) {
  return reinterpret_cast<const tenon_backend*>(&tenon::opencl::OpenclBackend());
}
