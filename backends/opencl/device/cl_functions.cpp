#include "backends/opencl/device/cl_functions.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace tenon::opencl {
namespace {

const ClFunctions* g_intercepting = nullptr;

struct Library {
  ClFunctions functions;
  bool complete = false;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Library LoadLibrary() {
  Library library;
  const char* named = std::getenv("TENON_OPENCL_LIBRARY");
  void* handle = nullptr;
  if (named != nullptr && named[0] != '\0') {
    handle = dlopen(named, RTLD_NOW | RTLD_LOCAL);
  } else if (dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr) {
    // The program links OpenCL itself, or a tool (oclgrind) has put itself in its place.
    handle = dlopen(nullptr, RTLD_NOW);
  } else {
    handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) handle = dlopen("libOpenCL.so", RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return library;
  library.complete = true;
#define TENON_OPENCL_FIND(name) \
  library.complete = Find(handle, "cl" #name, library.functions.name) && library.complete;
  TENON_OPENCL_FUNCTIONS(TENON_OPENCL_FIND)
#undef TENON_OPENCL_FIND
  return library;  // never closed: drivers keep threads
}

const Library& TheLibrary() {
  static const Library kLibrary = LoadLibrary();
  return kLibrary;
}

}  // namespace

const ClFunctions* FindClFunctions() {
  if (g_intercepting != nullptr) return g_intercepting;
  return TheLibrary().complete ? &TheLibrary().functions : nullptr;
}

const ClFunctions& Cl() {
  return g_intercepting != nullptr ? *g_intercepting : TheLibrary().functions;
}

void InterceptClFunctions(const ClFunctions* functions) { g_intercepting = functions; }

}  // namespace tenon::opencl
