// A model file as bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "converter/status.hpp"

namespace tenon::converter {

/// The whole file. Errors (kInput), with the path: it is not there, is no regular file, is empty,
/// has more than `most` bytes (`too_large` says why that is too many), or cannot be read.
[[nodiscard]] Result<std::string> ReadModelBytes(const std::filesystem::path& path, uintmax_t most,
                                                 const char* too_large);

}  // namespace tenon::converter
