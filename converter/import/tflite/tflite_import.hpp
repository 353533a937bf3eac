// Reads a TFLite model (.tflite) into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// Loads, checks and lowers the model to Tenon's ops. Ports keep the model's own dims (channels
/// last) and types, and say what their integers stand for; they are called as the model's signature
/// calls them, or after their tensors if it has none. Integer ops compute the bits that TFLite's
/// reference kernels give, but for those that docs/tflite.md lists.
/// Errors (kInput): unreadable or malformed file; unsupported ops, all of them at once with the
/// tensors they make; data-dependent shapes. kUsage: options that do not fit the model's inputs.
[[nodiscard]] Result<Graph> ImportTflite(const std::filesystem::path& path,
                                         const ImportOptions& options, const ConstantFolder& fold);

/// True if the file begins as TFLite models do. False also where it cannot be read.
[[nodiscard]] bool LooksLikeTflite(const std::filesystem::path& path);

}  // namespace tenon::converter
