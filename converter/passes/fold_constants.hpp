// Computes at conversion what depends on constants only.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Requires: PassContext::fold. Guarantees: no op reads constants only, except where the result
/// would be much larger than what it is made from (declined). The ops that made the values stay
/// (without readers) until dead code is eliminated.
[[nodiscard]] Status FoldConstants(Graph& graph, PassContext& context);

/// The same, but dequantize ops and what depends on them stay: for while it is still open whether
/// the ops that read them take the quantized values.
[[nodiscard]] Status FoldQuantizedConstants(Graph& graph, PassContext& context);

}  // namespace tenon::converter
