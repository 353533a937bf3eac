// An ONNX model before its first node is lowered: reading the protobuf, and all that is known to be
// wrong with it.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/status.hpp"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace tenon::converter {

// Reads the protobuf of a model.

/// Errors (kInput): unreadable, empty, over 2 GB (protobuf's own limit), not a protobuf of this
/// kind, truncated. Prints nothing.
[[nodiscard]] Result<std::shared_ptr<onnx::ModelProto>> ReadModel(
    const std::filesystem::path& path);

// Everything that is known to be wrong with a model before its first node is lowered.

/// Version of the default operator set that the model imports, 0 if none.
[[nodiscard]] int DefaultOpset(const onnx::ModelProto& model);

/// Sorts the nodes topologically (stable: models that are sorted stay as they are).
/// Errors: a value with two producers, a value that nothing makes, a cycle.
[[nodiscard]] Status SortNodes(onnx::ModelProto& model);

/// Returns true if a node of the graph, not of those inside its nodes, cannot be lowered.
[[nodiscard]] bool HasUnsupported(const onnx::GraphProto& graph);

/// The error that names all unsupported operators of the model, those of graphs inside nodes too,
/// with the nodes that use them.
[[nodiscard]] Error UnsupportedError(const onnx::ModelProto& model);

/// Errors: no graph, an operator set that is too old or too new, unsupported operators (all of
/// them at once), nodes without outputs, malformed initialisers, what libonnx's checker finds.
[[nodiscard]] Status CheckModel(const onnx::ModelProto& model, const std::filesystem::path& folder);

}  // namespace tenon::converter
