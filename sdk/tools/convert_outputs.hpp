// The files that `tenon convert` writes: a plan, or C source made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/tools/convert_options.hpp"
#include "sdk/tools/files.hpp"

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

/// Writes them, and those of `reports` that have a path: all are new afterwards, or all as they
/// were. Throws Failure: firmware cannot run such a plan (kUsage), a file cannot be written.
void WriteOutputs(const ConvertOutputs& outputs, const std::vector<uint8_t>& plan,
                  const std::vector<NewFile>& reports);

}  // namespace tenon::tool
