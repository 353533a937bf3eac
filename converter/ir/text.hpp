// Represents a graph as text, for tests and for people.
//
//   graph demo
//   input %x: f32[1,3,8,8]
//   const %w: f32[4,3,3,3] = random(7)
//   const %b: f32[4] = [0.5, 1, -2, 3e-3]
//   %y: f32[1,4,8,8] channels_last = conv(%x, %w, %b) {pads=[1,1,1,1], activation=relu} "conv_1"
//   output %y
//
// Each line has one statement; `#` starts a comment. Names with other characters than letters,
// digits and _ . / $ - are quoted: %"a b", with \" and \\ inside. An absent optional input is `_`.
// The type of an output may be left out (`%y = ...`) and is inferred then. Attributes that have
// their default are left out; a list is `[a,b]`; enums by name. Lists of an op that has a rank are
// as long as the rank, which is not written itself. Constants are a list of values (row-major),
// `splat(v)`, or `random(seed)`: f32 in [-1, 1), signed integers in [-8, 8), unsigned in [0, 16),
// the same on every machine (elements.hpp). After the op: ` "name"` (default: the output's name),
// then ` @backend/kernel` once chosen. `input %x as "data": ...` and `output %y as "prob"` name
// ports. Workspace sizes and source ops are not in the text.
#pragma once

#include <string>
#include <string_view>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Writes a graph as text. Constants of up to 16 elements are written in full; longer ones as
/// `bytes(N, crc32c=XXXXXXXX)`, which shows a change but cannot be parsed back.
[[nodiscard]] std::string PrintGraph(const Graph& graph);

/// Reads text. The result has been verified. Errors name the line.
[[nodiscard]] Result<Graph> ParseGraph(std::string_view text);

}  // namespace tenon::converter
