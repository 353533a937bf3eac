// Reads a TFLite file and makes sure that every offset in it stays inside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "converter/status.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Model;
}

/// A file's bytes and the model in them.
struct ModelFile {
  std::string bytes;
  const format::Model* model = nullptr;  ///< points into `bytes`
};

/// Errors (kInput): not readable, over 2 GB, not a TFLite model, or malformed.
[[nodiscard]] Result<std::shared_ptr<const ModelFile>> ReadModelFile(
    const std::filesystem::path& path);

}  // namespace tenon::converter::tflite
