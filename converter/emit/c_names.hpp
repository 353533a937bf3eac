// Names and literals of the C that is written for firmware.
#pragma once

#include <string>
#include <string_view>

namespace tenon::converter {

/// What everything in a generated file is named after: `stem` (of a file name, say) with all that
/// cannot stand in a C identifier as '_', and "model_" in front where C or tenon.h keeps such names
/// for itself (a leading digit or '_', "tenon..."). Empty only for an empty stem.
[[nodiscard]] std::string CIdentifier(std::string_view stem);

/// The same in capitals, for macros.
[[nodiscard]] std::string CMacro(std::string_view identifier);

/// A string literal with these bytes: whatever is not printable ASCII comes as octal escapes.
[[nodiscard]] std::string CString(std::string_view text);

/// A literal of type float with exactly this finite value.
[[nodiscard]] std::string CFloat(float value);

}  // namespace tenon::converter
