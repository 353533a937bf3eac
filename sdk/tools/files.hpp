// Whole files: read, or written so that they are there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace tenon::tool {

/// Throws Failure (kInputRefused) for what is no regular file, a pipe that would wait among them.
[[nodiscard]] std::ifstream OpenToRead(const std::filesystem::path& path);

/// The file's bytes; throws Failure (kInputRefused) if it cannot be read.
[[nodiscard]] std::vector<uint8_t> ReadFile(const std::filesystem::path& path);

/// Writes to a temporary name in the same folder, flushes it to the disk, and renames it over
/// `path`. Throws Failure (kDeviceFailure) and leaves nothing behind if any of that fails. A `path`
/// that is no regular file (a pipe) is written directly, /dev/stdout and the like to the open file
/// that they stand for, whatever that is.
void WriteFile(const std::filesystem::path& path, const void* data, size_t bytes);
void WriteFile(const std::filesystem::path& path, std::string_view text);

}  // namespace tenon::tool
