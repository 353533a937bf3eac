// Where models, operator tests and planning instances are that the project does not carry itself.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon::test {

/// TENON_SHARED, or `../shared` beside the source tree. May not exist.
inline std::filesystem::path SharedFolder() {
  if (const char* given = std::getenv("TENON_SHARED"); given != nullptr && *given != '\0') {
    return given;
  }
  const char* source = std::getenv("TENON_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / ".." / "shared";
}

/// `relative` inside the shared folder; empty, with a message, where it is absent: the test then
/// returns and says so in its output.
inline std::filesystem::path SharedPath(const std::string& relative) {
  std::filesystem::path path = SharedFolder() / relative;
  if (std::filesystem::exists(path)) return path;
  MESSAGE("skipped: no '" << relative << "' in the shared folder (set TENON_SHARED)");
  return {};
}

}  // namespace tenon::test
