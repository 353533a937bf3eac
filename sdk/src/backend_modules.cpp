#include "sdk/src/backend_modules.hpp"

#include <dlfcn.h>

namespace tenon::sdk {
namespace {

using GiveBackend = const tenon_backend* (*)();

const tenon_backend* Load(const char* file) {
  void* module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return nullptr;
  const auto give = reinterpret_cast<GiveBackend>(dlsym(module, "tenon_backend_module"));
  return give == nullptr ? nullptr : give();
}

}  // namespace

const tenon_backend* OpenclModule() {
  static const tenon_backend* const backend = Load("libtenon_backend_opencl" TENON_MODULE_SUFFIX);
  return backend;
}

const tenon_backend* FpgaModule() {
  static const tenon_backend* const backend = Load("libtenon_backend_fpga" TENON_MODULE_SUFFIX);
  return backend;
}

}  // namespace tenon::sdk
