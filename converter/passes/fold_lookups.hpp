// Lookups that need not run.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Takes out lookup ops whose work others can do for nothing:
///   - a table behind a table becomes one;
///   - a table that only moves every value by the same amount (from u8 to i8: 128 less) becomes
///     another zero point of the op that makes its input, where nobody else reads that, or of all
///     the ops that read its output.
/// Nothing is rounded differently: results keep their bits.
Status FoldLookups(Graph& graph, PassContext& context);

}  // namespace tenon::converter
