// Gives graph outputs the layout that their reader wants.
//
// Requires:   a graph as imported.
// Guarantees: an output that a format names has the same elements, as images with channels last or
//             first; where ops compute in that layout anyway the transpose costs nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// The layout that an output leaves the plan in.
struct OutputFormat {
  std::string output;          ///< the port's name
  bool channels_last = false;  ///< [N, H, W, C], or else [N, C, H, W]
};

/// Parses "nhwc" or "nchw" for output `name`. Errors: kUsage.
[[nodiscard]] Result<OutputFormat> ParseOutputFormat(std::string_view name, std::string_view text);

/// Turns the outputs that formats name. `images_channels_last`: the model's own outputs of rank 4
/// are [N, H, W, C]. Errors (kUsage): no such output, one named twice, a state, or one whose rank
/// is not 4.
[[nodiscard]] Status ApplyOutputFormats(Graph& graph, const std::vector<OutputFormat>& formats,
                                        bool images_channels_last);

}  // namespace tenon::converter
