// Supports graph inputs as a device delivers them: bytes, channels-last, not normalised. The graph
// gets ops that convert them to the model's own form; FoldInputFormats (fold_input_format.hpp)
// later folds those that need no extra pass over the data.
//
// Requires:   a graph as imported, in which every format's input occurs once.
// Guarantees: the model computes what it computes for float((x - mean) * scale) in its own layout.
#pragma once

#include <string_view>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Parses text such as "u8,nhwc,mean=127.5,scale=0.0078" for input `name`: a dtype, a layout,
/// `mean` and `scale` in any order, each at most once; several numbers are separated by ':'.
/// Errors: kUsage.
[[nodiscard]] Result<InputFormat> ParseInputFormat(std::string_view name, std::string_view text);

/// Gives each input that PassContext::input_formats names its format: a port of another dtype and
/// layout, followed by transpose, cast, sub and mul as needed. For an input of a quantized model (a
/// port with a scale), a quantize op comes last. Errors (kUsage): no such input, or a state; a
/// format that does not fit it.
[[nodiscard]] Status ApplyInputFormats(Graph& graph, PassContext& context);

}  // namespace tenon::converter
