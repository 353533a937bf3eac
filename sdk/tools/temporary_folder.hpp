// A folder for files that other programs read while a command runs; gone when the command ends,
// also by Ctrl-C, SIGTERM or SIGHUP (only SIGKILL leaves it behind).
#pragma once

#include <filesystem>
#include <string>

namespace tenon::tool {

/// One at a time: signal handlers know of one.
class TemporaryFolder {
 public:
  /// In the system's folder for such (TMPDIR). Throws Failure (kDeviceFailure).
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  /// Creates file number `index` (0 to kMostFiles - 1, once each) and returns its path. Throws
  /// Failure (kDeviceFailure) if it cannot be written whole.
  std::string Write(int index, const void* data, size_t bytes) const;
  void Remove(int index) const;

  static constexpr int kMostFiles = 1000;

 private:
  [[nodiscard]] std::filesystem::path File(int index) const;

  std::filesystem::path path_;
};

}  // namespace tenon::tool
