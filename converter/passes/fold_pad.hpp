// Folds a pad of height and width into the windowed ops that read it.
//   conv:         constant pad of 0.
//   average_pool: constant pad of 0, where the pool counts padding anyway or has none of its own
//                 (the zeros count in the mean: count_include_pad is set).
//   max_pool:     constant pad of minus infinity, which is what its own padding is.
// Requires:   nothing.
// Guarantees: a pad is folded into all of its readers or into none; what is left is declined.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status FoldPad(Graph& graph, PassContext& context);

}  // namespace tenon::converter
