// The one table of TFLite operators that can be imported.
#pragma once

#include "converter/import/tflite/node.hpp"

namespace tenon::converter::tflite {

namespace format {
struct OperatorCode;
}  // namespace format

using LoweringFunction = Status (*)(Node& node);

/// What becomes of an operator when its tensors are quantized.
enum class Integers {
  kInFloats,   ///< numbers are made real, computed with and quantized again: not TFLite's bits
  kMoved,      ///< bits stay, whatever they stand for; of another type: as kInFloats
  kTaken,      ///< integers are taken as they are: TFLite's kernels do not look at scales
  kCompared,   ///< bits stay if they stand for the same; else, or of 16 bits: as kInFloats
  kExact,      ///< `quantized` lowers it to TFLite's own arithmetic (of 16 bits: as kInFloats)
  kExactWide,  ///< kExact, with tensors of 16 bits among the others
};

struct LoweringRow {
  format::BuiltinOperator op;
  LoweringFunction lower;
  Integers integers = Integers::kInFloats;
  LoweringFunction quantized = nullptr;  ///< with kExact
  std::string_view limits = {};          ///< what is refused though TFLite has it, in words
  std::string_view custom = {};          ///< the name of a CUSTOM operator
};

/// Null if the operator cannot be imported.
[[nodiscard]] const LoweringRow* FindLowering(const format::OperatorCode& code);

/// Emits what the node does. Errors: among others, its operator is not in the table.
[[nodiscard]] Status Lower(Node& node);

}  // namespace tenon::converter::tflite
