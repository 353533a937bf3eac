// Ops that the user has given to a backend by name: --map 'conv_3=cpu,layer4/*=opencl'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

struct Pin {
  std::string pattern;  ///< of op names: `*` any text, `?` one character
  std::string backend;
};

/// "PATTERN=BACKEND,..."; the last `=` of an entry separates. Errors (kUsage): an entry without
/// either.
[[nodiscard]] Result<std::vector<Pin>> ParsePins(std::string_view text);

/// True if the pattern is the op's name, or that of the op it is a part of.
[[nodiscard]] bool PinMatches(const Pin& pin, std::string_view op_name);

/// The last pin that matches; null if none does.
[[nodiscard]] const Pin* FindPin(const std::vector<Pin>& pins, std::string_view op_name);

}  // namespace tenon::converter
