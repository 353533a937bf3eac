// GroupQueryAttention of com.microsoft: several heads of queries share one of keys and values, the
// past lies in a buffer that may be longer than what is in it.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

[[nodiscard]] Status LowerGroupQueryAttention(Lowering& node);

}  // namespace tenon::converter
