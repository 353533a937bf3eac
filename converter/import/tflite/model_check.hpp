// What must hold of a model before it is imported.
#pragma once

#include <cstdint>
#include <string>

#include "converter/status.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Model;
struct Operator;
struct SubGraph;
struct OperatorCode;
enum class BuiltinOperator : int32_t;
}  // namespace format

/// Checks what the FlatBuffers verifier does not know: one graph, every index in range, every
/// tensor made once and before it is read, no sparse or variable tensors, no data outside the
/// file's FlatBuffer; and that every operator can be converted (unsupported ones are all listed,
/// each with the tensors that it makes).
[[nodiscard]] Status CheckModel(const format::Model& model);

/// The operator that a code stands for. Old files have numbers up to 127 in another field.
[[nodiscard]] format::BuiltinOperator OperatorOf(const format::OperatorCode& code);

/// "CONV_2D"; a custom operator's own name; "operator 300" for numbers that are not known.
[[nodiscard]] std::string OperatorName(const format::OperatorCode& code);

/// What a node is called: its first output.
[[nodiscard]] std::string NodeName(const format::SubGraph& graph, const format::Operator& node);

}  // namespace tenon::converter::tflite
