// Reads the serialised tensors (.pb) that ONNX operator tests come with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "converter/import/onnx/onnx_import.hpp"

namespace tenon::test {

struct TensorFile {
  std::string name;
  converter::ImportOptions::Frozen value;
};

/// None if the file holds no tensor of an element type that Tenon knows (sequences, strings).
[[nodiscard]] std::optional<TensorFile> ReadTensorFile(const std::filesystem::path& path);

/// Names of the model's inputs in order, without initialisers.
[[nodiscard]] std::vector<std::string> ModelInputNames(const std::filesystem::path& path);

}  // namespace tenon::test
