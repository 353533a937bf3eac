// Whether a path names a file that can be read, asked before it is opened: opening a pipe waits
// until somebody writes to it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace tenon {

/// Why `path` is no file to read, in words that begin with the path; nothing if it is one. It may
/// still be one that this process has no right to read.
[[nodiscard]] inline std::optional<std::string> WhyUnreadable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return path.string() + ": no such file";
  }
  if (error) return path.string() + ": " + error.message();
  if (std::filesystem::is_directory(status)) {
    return path.string() + ": is a directory, a file is wanted";
  }
  if (!std::filesystem::is_regular_file(status)) {
    return path.string() + ": is a pipe or a device, a regular file is wanted";
  }
  return std::nullopt;
}

}  // namespace tenon
