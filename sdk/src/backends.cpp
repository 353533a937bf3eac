// The one place that names backends.
#include <cstring>

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
#include "sdk/src/backends_of_plan.hpp"
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

}  // extern "C"

namespace {

struct NamedBackend {
  const char* name;
  const tenon_backend* (*get)();  ///< looks for a module, where backends are modules
};

constexpr NamedBackend kEvery[] = {
    {"cpu", tenon_backend_cpu},
    {"opencl", tenon_backend_opencl},
    {"fpga", tenon_backend_fpga},
};

bool Names(const tenon::PlanView& plan, const char* name) {
  for (size_t i = 0; i < plan.backend_count(); ++i) {
    if (std::strcmp(plan.backend(i), name) == 0) return true;
  }
  return false;
}

}  // namespace

size_t tenon::sdk::BackendsOfPlan(const PlanView& plan, Span<const tenon_backend*> backends) {
  size_t count = 0;
  for (const NamedBackend& entry : kEvery) {
    // The CPU stands in for others.
    if (entry.get != tenon_backend_cpu && !Names(plan, entry.name)) continue;
    const tenon_backend* const backend = entry.get();
    if (backend == nullptr || count == backends.size()) continue;
    backends[count] = backend;
    ++count;
  }
  return count;
}

extern "C" {

size_t tenon_every_backend(const tenon_backend** backends, size_t room) {
  size_t count = 0;
  for (const NamedBackend& entry : kEvery) {
    const tenon_backend* const backend = entry.get();
    if (backend == nullptr) continue;  // this build lacks it
    if (backends != nullptr && count < room) backends[count] = backend;
    ++count;
  }
  return count;
}

const tenon_backend* tenon_backend_named(const char* name) {
  for (const NamedBackend& entry : kEvery) {
    if (name != nullptr && std::strcmp(entry.name, name) == 0) return entry.get();
  }
  return nullptr;
}

}  // extern "C"
