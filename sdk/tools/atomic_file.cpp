#include "sdk/tools/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

bool WriteAll(int file, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(file, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

[[noreturn]] void FailToWrite(const std::filesystem::path& path, int error) {
  Fail(kDeviceFailure, "cannot write '{}': {}", path.string(), std::strerror(error));
}

void WriteDirectly(const std::filesystem::path& path, const char* data, size_t bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) FailToWrite(path, errno);
  const bool written = WriteAll(file, data, bytes);
  const int error = errno;
  close(file);
  if (!written) FailToWrite(path, error);
}

/// Permissions of a new file under the process's mask; mkstemp gives only the owner's.
mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void WriteFile(const std::filesystem::path& path, const void* data, size_t bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) FailToWrite(path, EISDIR);
    return WriteDirectly(path, static_cast<const char*>(data), bytes);
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) FailToWrite(path, errno);
  bool ok = WriteAll(file, static_cast<const char*>(data), bytes) && fsync(file) == 0 &&
            fchmod(file, NewFileMode()) == 0;
  int error = errno;
  if (close(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && std::rename(temporary.c_str(), path.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    unlink(temporary.c_str());
    FailToWrite(path, error);
  }
}

void WriteFile(const std::filesystem::path& path, std::string_view text) {
  WriteFile(path, text.data(), text.size());
}

}  // namespace tenon::tool
