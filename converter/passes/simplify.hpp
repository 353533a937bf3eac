// Removes ops that do nothing and joins consecutive ops that only move data:
//   - identity unary, copy (same layout, not mapped), cast to the same dtype, reshape and expand to
//     the same shape, identity transpose, slice of everything, pad by nothing, concat of one;
//   - reshape of reshape, transpose of transpose (cancelled where they undo each other), constant
//     pad of constant pad of the same value;
//   - a transpose that only moves dimensions of size 1 becomes a reshape.
// Requires:   nothing; ops are left alone where layouts differ.
// Guarantees: none of the above is left but what the report declines. Graph outputs keep storage of
//             their own: an identity from a graph input, a constant or another graph output stays.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status Simplify(Graph& graph, PassContext& context);

}  // namespace tenon::converter
