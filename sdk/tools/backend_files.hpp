// Backends in shared libraries of others: `--backend libmine.so`.
#pragma once

#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace CLI {
class App;
}  // namespace CLI

namespace tenon {
struct BackendCaps;
}  // namespace tenon

namespace tenon::tool {

/// What a library gives; null: it has no such entry.
struct BackendFile {
  const tenon_backend* backend = nullptr;
  const BackendCaps* caps = nullptr;
};

/// Loads the library, for as long as the command runs. Throws Failure.
[[nodiscard]] BackendFile LoadBackendFile(const std::string& path);

/// Adds the option to a command that runs plans; its backends are those of RunningBackends.
void AddBackendOption(CLI::App& command);

/// Every backend of this build and those that `--backend` named; empty where it named none.
[[nodiscard]] std::vector<const tenon_backend*> RunningBackends();

}  // namespace tenon::tool
