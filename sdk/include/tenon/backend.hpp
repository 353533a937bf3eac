// Backends from outside Tenon's tree, C++17: a table of kernels and, where they run beside the
// host, the functions that drive the device.
//
// What a kernel and a device promise, and when they are called, stands at KernelEntry
// (runtime/backend_api/kernel.hpp) and DeviceApi (runtime/backend_api/device.hpp), which this
// header brings with it; link tenon::backend_api. A backend takes part in conversion too if the
// converter is given its BackendCaps (runtime/ops/kernel_caps.hpp).
//
//   const tenon::KernelEntry kernels[] = {{"npu.conv.direct", ...}, ...};
//   const tenon::Backend npu = {"npu", {kernels, 2}, nullptr, nullptr, &device_functions};
//   const tenon_backend* every[] = {tenon_backend_from(npu), tenon_backend_cpu()};
//
// In a shared library of its own a backend is given to the command by `--backend FILE`: it has
//   extern "C" TENON_API const tenon_backend* tenon_backend_module(void);            to run plans
//   extern "C" TENON_API const tenon::BackendCaps* tenon_backend_module_caps(void);  to convert
//
// These types change with the library: compile a backend against the Tenon that it is linked to.
#pragma once

#include "runtime/backend_api/backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_caps.hpp"
#include "tenon/tenon.h"

/// The handle for tenon_backends and tenon::Plan::Open. `backend` must outlive every plan that is
/// loaded with it.
[[nodiscard]] inline const tenon_backend* tenon_backend_from(const tenon::Backend& backend) {
  return reinterpret_cast<const tenon_backend*>(&backend);
}

/// Returns the backend of a handle: for backends that take over kernels of another one.
[[nodiscard]] inline const tenon::Backend& tenon_backend_table(const tenon_backend* handle) {
  return *reinterpret_cast<const tenon::Backend*>(handle);
}
