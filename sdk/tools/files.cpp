#include "sdk/tools/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "converter/readable.hpp"
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

/// The open file that the path is a name of: replacing "/dev/stdout" by a file would be fatal.
std::optional<int> DescriptorOf(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int descriptor = -1;
    const char* end = path.data() + path.size();
    const auto [rest, error] = std::from_chars(path.data() + folder.size(), end, descriptor);
    if (error == std::errc() && rest == end && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

/// Permissions of a new file under the process's mask; mkstemp gives only the owner's.
mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

std::ifstream OpenToRead(const std::filesystem::path& path) {
  if (const auto reason = WhyUnreadable(path)) Fail(kInputRefused, "{}", *reason);
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(kInputRefused, "{}: cannot be read: {}", path.string(), std::strerror(errno));
  return file;
}

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) {
  std::ifstream file = OpenToRead(path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
}

void WriteFile(const std::filesystem::path& path, const void* data, size_t bytes) {
  if (const std::optional<int> descriptor = DescriptorOf(path.string())) {
    std::cout.flush();
    if (!WriteAll(*descriptor, static_cast<const char*>(data), bytes)) FailToWrite(path, errno);
    return;
  }
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
