#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {
namespace {

/// Backtracks to the last star only: time is linear but for the length of the text between stars.
bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<Pin> ParsePin(std::string_view entry) {
  const size_t equals = entry.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == entry.size()) {
    return UsageError("map '{}': PATTERN=BACKEND is wanted, as in 'conv_3=cpu'", entry);
  }
  return Pin{std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1))};
}

}  // namespace

Result<std::vector<Pin>> ParsePins(std::string_view text) {
  std::vector<Pin> pins;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    TENON_ASSIGN_OR_RETURN(Pin pin, ParsePin(text.substr(begin, end - begin)));
    pins.push_back(std::move(pin));
    begin = end + 1;
  }
  return pins;
}

bool PinMatches(const Pin& pin, std::string_view op_name) {
  if (GlobMatches(pin.pattern, op_name)) return true;
  for (const char* part : {"/part_*", "/patch_*", "/join", "/input_*"}) {
    if (GlobMatches(pin.pattern + part, op_name)) return true;
  }
  return false;
}

const Pin* FindPin(const std::vector<Pin>& pins, std::string_view op_name) {
  const Pin* found = nullptr;
  for (const Pin& pin : pins) {
    if (PinMatches(pin, op_name)) found = &pin;
  }
  return found;
}

}  // namespace tenon::converter
