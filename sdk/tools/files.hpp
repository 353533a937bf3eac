// Whole files: read, or written so that they are there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tool {

/// The file's bytes; throws Failure (kInputRefused) if it cannot be read, is no regular file, or
/// reading it would wait.
[[nodiscard]] std::vector<uint8_t> ReadFile(const std::filesystem::path& path);
/// The same, as text.
[[nodiscard]] std::string ReadText(const std::filesystem::path& path);
/// The same, for what is not numbers yet.
[[nodiscard]] std::vector<std::byte> ReadBytes(const std::filesystem::path& path);

/// One file to be written. What the views look at must outlive the call.
struct NewFile {
  std::filesystem::path path;
  std::string_view bytes;
  std::string_view rest = {};  ///< behind `bytes`
};

/// Writes files that belong together: all of them are new afterwards, or all are as they were. Each
/// is written and flushed to the disk without a name where the file system can do that (O_TMPFILE),
/// else under a temporary one; then all get their names. Throws Failure (kDeviceFailure) and leaves
/// nothing behind if any of that fails; the same holds if SIGINT, SIGTERM or SIGHUP arrives, which
/// takes effect before or after the names change. A path that is no regular file (a pipe) is
/// written directly, /dev/stdout and the like to the open file that they stand for, before any name
/// changes.
void WriteFiles(const std::vector<NewFile>& files);

/// The same for one file.
void WriteFile(const std::filesystem::path& path, const void* data, size_t bytes);
void WriteFile(const std::filesystem::path& path, std::string_view text);

}  // namespace tenon::tool
