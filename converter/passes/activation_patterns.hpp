// Recognises activation functions that a model spells out in several ops.
#pragma once

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// If the binary op `id` ends a pattern (fuse_activation.hpp, 1 and 2), makes it the unary op that
/// the pattern means, erases the rest of the pattern and returns true. Patterns whose inner results
/// have other readers are left: those would have to be computed anyway.
bool TryRecogniseActivation(Graph& graph, OpId id);

}  // namespace tenon::converter
