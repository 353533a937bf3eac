// The OpenCL backend: its kernels, and the device that they enqueue work on.
#pragma once

#include "runtime/backend_api/backend.hpp"

namespace tenon::opencl {

/// Returns the backend, whose name is "opencl". The OpenCL library is looked for when a plan that
/// needs it is loaded. There is one context per loaded plan and one in-order OpenCL queue per
/// command queue. Environment variables (read when a plan is loaded): TENON_OPENCL_DEVICE,
/// TENON_OPENCL_TRANSFER, TENON_OPENCL_VECTOR, TENON_OPENCL_OPTIONS, TENON_OPENCL_LIBRARY,
/// TENON_CACHE_DIR.
[[nodiscard]] const Backend& OpenclBackend();

}  // namespace tenon::opencl
