// Everything that is known to be wrong with a model before its first node is lowered.
#pragma once

#include <filesystem>

#include "converter/status.hpp"

namespace onnx {
class ModelProto;
}

namespace tenon::converter {

/// Version of the default operator set that the model imports, 0 if none.
[[nodiscard]] int DefaultOpset(const onnx::ModelProto& model);

/// Sorts the nodes topologically (stable: models that are sorted stay as they are).
/// Errors: a value with two producers, a value that nothing makes, a cycle.
[[nodiscard]] Status SortNodes(onnx::ModelProto& model);

/// Errors: no graph, an operator set that is too old or too new, unsupported operators (all of
/// them at once), malformed initialisers, what libonnx's checker finds.
[[nodiscard]] Status CheckModel(const onnx::ModelProto& model, const std::filesystem::path& folder);

}  // namespace tenon::converter
