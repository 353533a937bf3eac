// Functions that an ONNX model brings along (exporters write a layer or an attention as one): every
// call is replaced by the function's nodes, so that what follows sees operators alone.
#pragma once

#include <cstdint>

#include "converter/status.hpp"

namespace onnx {
class ModelProto;
}

namespace tenon::converter {

/// Replaces the calls of the model's functions, those in graphs inside nodes and in functions
/// among them, as the ONNX IR specification's section "Functions" says: attributes that refer to
/// the call's take its value or the function's default. Values inside get the call's name before
/// theirs. A function that has the name of an operator stands for it.
///
/// Errors (kInput): a call with more inputs or outputs than its function, functions that call
/// each other in a circle, two of one name, another version of the operator set than the model's;
/// copies of over 200,000 nodes or `most_bytes` bytes in all.
[[nodiscard]] Status InlineFunctions(onnx::ModelProto& model, int64_t most_bytes);

}  // namespace tenon::converter
