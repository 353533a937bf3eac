// A plan as C source for firmware: its bytes, the kernels that it names and nothing else, and how
// much memory the program has to give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

struct CSourceOptions {
  std::string identifier;  ///< what all is named after: CIdentifier of c_names.hpp
  std::string header;      ///< file name by which the source includes the header
  /// Empty: the plan's bytes are a C array. Otherwise the source is for the assembler (after the C
  /// preprocessor), which reads them from a file of this name.
  std::string plan_file;
};

struct CSource {
  std::string header;
  std::string source;
};

/// Texts of header and source: the same for the same arguments. `plan` is a whole plan file.
/// With identifier "kws" they define `kws_plan`, `kws_backends` and macros KWS_...: sizes and
/// alignments of plan, arenas and states; names, types, sizes and scales of inputs and outputs.
/// Errors: kUsage where firmware cannot run the plan (see firmware_plan.hpp); kInternal if it
/// cannot be read.
[[nodiscard]] Result<CSource> EmitCSource(const std::vector<uint8_t>& plan,
                                          const CSourceOptions& options);

}  // namespace tenon::converter
