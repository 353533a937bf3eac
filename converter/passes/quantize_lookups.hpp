// Functions of one quantized tensor, element by element, as tables.
#pragma once

#include <string>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// If everything between the quantize op `id` and the dequantize ops before it computes each
/// element from one element of one tensor of i8 or u8 (and constants of one element), makes that a
/// lookup in a table: what the float ops, run by `fold`, give for all 256 values. With
/// nothing between, the table changes scale and zero point.
/// Returns why not: empty if it was done, or `kNotElementwise` if it is something else.
[[nodiscard]] Result<std::string> TryMakeLookup(Graph& graph, OpId id, const ConstantFolder& fold);

inline constexpr const char* kNotElementwise = "not a function of one tensor";

}  // namespace tenon::converter
