// Whole files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tenon::tool {

/// The file's bytes; throws Failure (kInputRefused) if it cannot be read.
[[nodiscard]] std::vector<uint8_t> ReadFile(const std::filesystem::path& path);

}  // namespace tenon::tool
