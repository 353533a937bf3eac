// The float models of the shared folder, with the inputs and outputs that ONNX Runtime gave.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/span.hpp"

namespace tenon::test {

using Arrays = std::vector<std::vector<std::byte>>;

struct FloatModel {
  const char* folder;
  const char* file;    ///< without ".onnx"
  const char* prefix;  ///< of the arrays' names
};

/// Every float model that converts.
[[nodiscard]] Span<const FloatModel> FloatModels();

/// The raw elements of `input_0.npy`, ... or `output_0.npy`, ... of a model (`kind`: "input",
/// "output"). `models`: the folder that holds all models.
[[nodiscard]] Arrays ReadArrays(const std::filesystem::path& models, const FloatModel& model,
                                const char* kind);

[[nodiscard]] std::filesystem::path ModelPath(const std::filesystem::path& models,
                                              const FloatModel& model);

/// Largest |a - b| over (1e-5 + 1e-4 x the largest |b|): at most 1 if the f32 arrays agree.
[[nodiscard]] double Deviation(const std::vector<std::byte>& a, const std::vector<std::byte>& b);

}  // namespace tenon::test
