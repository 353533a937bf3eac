#include "backends/fpga/sim/model_library.hpp"

#include <dlfcn.h>

#include <cstdio>

namespace tenon::fpga::sim {
namespace {

/// Where the models lie: beside the folder that this library is in.
std::string ModelFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&ModelFolder), &info) == 0) return ".";
  const std::string library = info.dli_fname;
  const size_t slash = library.rfind('/');
  return (slash == std::string::npos ? std::string(".") : library.substr(0, slash)) +
         "/../share/tenon/";
}

/// The configuration in a name like "tenon_cnn:small_1".
std::string ConfigurationIn(const std::string& name) {
  const size_t begin = name.find(':') + 1;
  return name.substr(begin, name.rfind('_') - begin);
}

}  // namespace

std::unique_ptr<ComputeUnit> MakeComputeUnit(const std::string& name, const DeviceMemory& memory,
                                             const MemoryTiming& timing) {
  const std::string path = ModelFolder() + ConfigurationIn(name) + ".so";
  // Never closed: units of it may outlive the board that asked for it.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "tenon simulated board: %s\n", dlerror());
    return nullptr;
  }
  auto* const make = reinterpret_cast<MakeUnit*>(dlsym(library, kMakeUnitName));
  return make == nullptr ? nullptr : std::unique_ptr<ComputeUnit>(make(memory, timing));
}

}  // namespace tenon::fpga::sim
