// The files that `tenon convert` writes: a plan, or C source made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/tools/convert_options.hpp"

namespace tenon::tool {

struct ConvertOutputs {
  std::string plan;    ///< empty: only as an array in the source
  std::string source;  ///< .c or .S; empty: none
  std::string header;  ///< beside the source
  std::string name;    ///< what all in the source is named after
};

/// What -o and --emit ask for. Throws Failure (kUsage) for names that do not go with --emit, and
/// where an output would replace the model or another output.
[[nodiscard]] ConvertOutputs NameOutputs(const ConvertCommand& options);

/// Writes them, the source last. Each is there whole or not at all. Throws Failure: firmware cannot
/// run such a plan (kUsage; nothing is written then), a file cannot be written.
void WriteOutputs(const ConvertOutputs& outputs, const std::vector<uint8_t>& plan);

}  // namespace tenon::tool
