// Where the shared test data lies.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace tenon::converter::test {

/// TENON_SHARED, or `shared` beside the source tree. Empty, and said on stderr, if it is missing.
inline std::filesystem::path SharedFolder() {
  const char* given = std::getenv("TENON_SHARED");
  const char* source = std::getenv("TENON_SOURCE_DIR");
  std::filesystem::path folder;
  if (given != nullptr) {
    folder = given;
  } else if (source != nullptr) {
    folder = std::filesystem::path(source).parent_path() / "shared";
  }
  if (!folder.empty() && std::filesystem::is_directory(folder / "models")) return folder;
  std::cerr << "skipped: no shared folder (set TENON_SHARED)\n";
  return {};
}

}  // namespace tenon::converter::test
