// A plan as C source for firmware: its bytes, the kernels that it names and nothing else, and how
// much memory the program has to give.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

// Names and literals of the C that is written for firmware.

/// Returns the identifier from which all names in a generated file are made: `stem` (of a file
/// name, for example) with '_' for all characters that a C identifier cannot contain, and with the
/// prefix "model_" where C or tenon.h reserves the name (a leading digit or '_', "tenon..."). Empty
/// only for an empty stem.
[[nodiscard]] std::string CIdentifier(std::string_view stem);

/// Returns the same in capitals, for macros.
[[nodiscard]] std::string CMacro(std::string_view identifier);

/// Returns a string literal with these bytes. All but printable ASCII is written as octal escapes.
[[nodiscard]] std::string CString(std::string_view text);

/// Returns a literal of type float with exactly this finite value.
[[nodiscard]] std::string CFloat(float value);

// Writes the header of a plan in C: what a program has to know before it runs.

/// Returns the alignment of the plan's first byte that aligns all its constants.
[[nodiscard]] uint32_t PlanMemoryAlignment(const PlanView& plan);

/// Returns the header's text from the include guard on, for a plan of one program. See
/// c_source.hpp.
[[nodiscard]] std::string CHeaderText(const PlanView& plan, const std::string& identifier);

// A plan as C source for firmware: its bytes, the kernels that it names and nothing else, and how
// much memory the program has to give.

struct CSourceOptions {
  std::string identifier;  ///< the prefix of all names, from CIdentifier
  std::string header;      ///< file name by which the source includes the header
  /// Empty: the plan's bytes are a C array. Otherwise the source is for the assembler (after the C
  /// preprocessor), which reads them from a file of this name.
  std::string plan_file;
};

struct CSource {
  std::string header;
  std::string source;
};

/// Returns the texts of header and source. Deterministic. `plan` is a whole plan file. With
/// identifier "kws" they define `kws_plan`, `kws_backends` and macros KWS_...: sizes and alignments
/// of plan, arenas and states; names, types, sizes and scales of inputs and outputs. Errors: kUsage
/// where firmware cannot run the plan (see firmware_plan.hpp); kInternal if the plan cannot be
/// read.
[[nodiscard]] Result<CSource> EmitCSource(const std::vector<uint8_t>& plan,
                                          const CSourceOptions& options);

}  // namespace tenon::converter
