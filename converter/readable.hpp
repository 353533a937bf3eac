// Whether a path names a file that can be read, asked before it is opened, and reading it whole
// without ever waiting: opening a pipe waits until somebody writes to it, and so does reading some
// files of /proc that say they are regular ones.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
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

/// Reads the file to its end into `content`, a string or vector of bytes. Why it cannot be read, in
/// words that begin with the path; nothing if it was. A file of /proc says that it is empty and may
/// have no end: such a one has a bound.
template <typename Bytes>
[[nodiscard]] std::optional<std::string> ReadToEnd(const std::filesystem::path& path,
                                                   Bytes& content) {
  constexpr size_t kMostUnsaid = size_t{64} << 20;
  if (auto reason = WhyUnreadable(path)) return reason;
  std::error_code error;
  const std::uintmax_t said = std::filesystem::file_size(path, error);
  const size_t most = std::max(error ? 0 : static_cast<size_t>(said), kMostUnsaid);
  if (!error) content.reserve(static_cast<size_t>(said));  // which may throw: no file is open yet
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return path.string() + ": cannot be read: " + std::strerror(errno);
  std::array<char, size_t{1} << 16> part;
  ssize_t count = 0;
  while (content.size() <= most) {
    count = read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const auto* begin = reinterpret_cast<const typename Bytes::value_type*>(part.data());
    content.insert(content.end(), begin, begin + count);
  }
  const int problem = count < 0 ? errno : 0;
  close(file);
  if (problem == EAGAIN) return path.string() + ": reading it would wait, a regular file is wanted";
  if (problem != 0) return path.string() + ": cannot be read: " + std::strerror(problem);
  if (content.size() > most) return path.string() + ": is longer than it says";
  return std::nullopt;
}

}  // namespace tenon
