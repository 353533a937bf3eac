// A TFLite model before its first node is lowered: reading the file, what must hold of it, and its
// ports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "converter/import/import_options.hpp"
#include "converter/status.hpp"

namespace tenon::converter::tflite {

// Reads a TFLite file and makes sure that every offset in it stays inside.

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

// What must hold of a model before it is imported.

namespace format {
struct Model;
struct Operator;
struct SubGraph;
struct OperatorCode;
enum class BuiltinOperator : int32_t;
}  // namespace format

/// Checks what the FlatBuffers verifier does not know: one graph and those that it
/// runs once, every index in range, every
/// tensor made once and before it is read, no sparse or variable tensors, no data outside the
/// file's FlatBuffer; and that every operator can be converted (unsupported ones are all listed,
/// each with the tensors that it makes); that names and lists which tables share stand for no more
/// than a few times `file_bytes`.
[[nodiscard]] Status CheckModel(const format::Model& model, size_t file_bytes);

/// The operator that a code stands for. Old files have numbers up to 127 in another field.
[[nodiscard]] format::BuiltinOperator OperatorOf(const format::OperatorCode& code);

/// "CONV_2D"; a custom operator's own name; "operator 300" for numbers that are not known.
[[nodiscard]] std::string OperatorName(const format::OperatorCode& code);

/// What a node is called: its first output, or what it assigns to.
[[nodiscard]] std::string NodeName(const format::SubGraph& graph, const format::Operator& node);

// Gives every graph input a static shape, and every port a name.

namespace format {
struct Model;
}

/// Names of the graph's inputs or outputs in order, all different: those of the model's first
/// signature where it names the tensor, else the tensors' names.
[[nodiscard]] std::vector<std::string> PortNames(const format::Model& model, bool outputs);

/// The options with each input that they call after its tensor, as the file shows it, called as
/// PortNames does.
[[nodiscard]] ImportOptions WithPortNames(const format::Model& model, ImportOptions options);

/// Dims of the graph's inputs in order: `--shape` if it names the input, `--batch` for the first
/// dimension where the model leaves it open, else those in the model.
/// Errors: kUsage for options that name no input, contradict its rank, or have no effect.
[[nodiscard]] Result<std::vector<Shape>> InputShapes(const format::Model& model,
                                                     const std::vector<std::string>& names,
                                                     const ImportOptions& options);

}  // namespace tenon::converter::tflite
