#include "sdk/tools/backend_files.hpp"

#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "converter/readable.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

/// Those that this call of the command has named.
std::vector<const tenon_backend*>& Named() {
  static std::vector<const tenon_backend*> named;
  return named;
}

template <typename Result>
const Result* Give(void* library, const char* entry) {
  const auto give = reinterpret_cast<const Result* (*)()>(dlsym(library, entry));
  return give == nullptr ? nullptr : give();
}

}  // namespace

BackendFile LoadBackendFile(const std::string& path) {
  if (const auto reason = WhyUnreadable(path)) Fail(kInputRefused, "--backend {}", *reason);
  // With a '/' it is this file, not one of that name somewhere in the system.
  const std::string file = std::filesystem::absolute(path).string();
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(kInputRefused, "--backend {}: {}", path, dlerror());
  const BackendFile found{Give<tenon_backend>(library, "tenon_backend_module"),
                          Give<BackendCaps>(library, "tenon_backend_module_caps")};
  if (found.backend == nullptr && found.caps == nullptr) {
    Fail(kInputRefused,
         "--backend {}: has neither tenon_backend_module nor tenon_backend_module_caps "
         "(tenon/backend.hpp)",
         path);
  }
  return found;
}

void AddBackendOption(CLI::App& command) {
  const auto load = [](const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const BackendFile file = LoadBackendFile(path);
      if (file.backend == nullptr) {
        Fail(kInputRefused, "--backend {}: has no tenon_backend_module: it runs nothing", path);
      }
      Named().push_back(file.backend);
    }
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--backend", load,
          "Shared library with a backend of its own (tenon/backend.hpp); may be repeated")
      ->allow_extra_args(false);
}

std::vector<const tenon_backend*> RunningBackends() {
  if (Named().empty()) return {};
  std::vector<const tenon_backend*> backends(tenon_every_backend(nullptr, 0));
  tenon_every_backend(backends.data(), backends.size());
  backends.insert(backends.end(), Named().begin(), Named().end());
  return backends;
}

}  // namespace tenon::tool
