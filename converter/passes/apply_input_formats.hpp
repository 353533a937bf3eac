// Graph inputs as a device delivers them: bytes, channels last, not normalised. The graph gets ops
// that bring them into the model's own form; what can be done without a pass over the data,
// FoldInputFormats (fold_input_format.hpp) folds away later.
//
// Requires:   a graph as imported, every format's input in it once.
// Guarantees: the model computes what it computes for float((x - mean) * scale) in its own layout.
#pragma once

#include <string_view>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Of "u8,nhwc,mean=127.5,scale=0.0078" for input `name`: a dtype, a layout, `mean` and `scale` in
/// any order, each at most once; several numbers are separated by ':'. Errors: kUsage.
[[nodiscard]] Result<InputFormat> ParseInputFormat(std::string_view name, std::string_view text);

/// Gives each input that PassContext::input_formats names its format: a port of another dtype and
/// layout, and behind it transpose, cast, sub and mul as needed. An input of a quantized model (a
/// port with a scale) is quantized again after that.
/// Errors (kUsage): no such input; a format that does not fit it.
[[nodiscard]] Status ApplyInputFormats(Graph& graph, PassContext& context);

}  // namespace tenon::converter
