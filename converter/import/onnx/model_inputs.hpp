// Gives every graph input a static shape.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/import/onnx/onnx_import.hpp"

namespace onnx {
class ModelProto;
}

namespace tenon::converter {

struct InputType {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// The model's inputs in order, without frozen ones and without those that are constants because
/// an initialiser gives their value (unless `--shape` names them), all dims known.
/// A dimension gets its value from `--shape`, then from the model, then from another input that
/// uses the same symbol, then from `--batch` if it is the first.
/// Errors: kUsage for options that name no input, contradict the model's rank, or have no effect;
/// kInput for a dimension that stays unknown, saying which option gives it a value.
[[nodiscard]] Result<std::vector<InputType>> ResolveInputs(const onnx::ModelProto& model,
                                                           const ImportOptions& options);

}  // namespace tenon::converter
