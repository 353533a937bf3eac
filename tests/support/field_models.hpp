// The ONNX networks of the shared folder's field-models: what people run, with expected outputs.
#pragma once

#include <filesystem>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"

namespace tenon::test {

struct FieldModel {
  FloatModel model;
  int frozen_input;  ///< i64 scalar that becomes a constant; -1: none
  double tolerance;  ///< times what Deviation allows: 1, more where the network is ill-conditioned
};

[[nodiscard]] Span<const FieldModel> FieldModels();

/// The inputs that a run takes: all but the frozen one.
[[nodiscard]] Arrays RunInputs(const std::filesystem::path& models, const FieldModel& model);

/// Options that convert `model` for `board`: shapes and frozen inputs set.
[[nodiscard]] converter::ConvertOptions FieldOptions(const std::filesystem::path& models,
                                                     const FieldModel& model,
                                                     const std::string& board);

/// Converts for `board`, runs and compares with the expected outputs (doctest checks).
void CheckFieldModel(const std::filesystem::path& models, const FieldModel& model,
                     const std::string& board, bool portable);

}  // namespace tenon::test
