// Functions of one tensor of bytes.
#pragma once

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Makes one lookup of a quantized binary op whose result is a function of one tensor of bytes
/// through at least one more such op or lookup: a byte times its logistic function, say. Returns
/// false, and changes nothing, for others. Errors: the ops could not be run.
Result<bool> TryMakeByteFunction(Graph& graph, OpId id, const ConstantFolder& fold);

}  // namespace tenon::converter
