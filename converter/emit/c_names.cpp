#include <fmt/format.h>

#include "converter/emit/c_source.hpp"

namespace tenon::converter {
namespace {

// <cctype> is not used, since letters must not depend on the locale.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

constexpr char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char Upper(char c) { return IsLower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

/// Compares without case, since macros are in capitals.
bool BeginsWithTenon(std::string_view name) {
  constexpr std::string_view kTenon = "tenon";
  if (name.size() < kTenon.size()) return false;
  for (size_t i = 0; i < kTenon.size(); ++i) {
    if (Lower(name[i]) != kTenon[i]) return false;
  }
  return true;
}

}  // namespace

std::string CIdentifier(std::string_view stem) {
  std::string name;
  for (const char c : stem) name += IsDigit(c) || IsLower(c) || IsUpper(c) ? c : '_';
  if (name.empty()) return name;
  if (IsDigit(name[0]) || name[0] == '_' || BeginsWithTenon(name)) name.insert(0, "model_");
  return name;
}

std::string CMacro(std::string_view identifier) {
  std::string macro;
  for (const char c : identifier) macro += Upper(c);
  return macro;
}

std::string CString(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '?') {  // "??/" and the like are trigraphs
      literal += '\\';
      literal += c;
    } else if (c >= ' ' && c <= '~') {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return literal + '"';
}

std::string CFloat(float value) {
  std::string text = fmt::format("{}", value);  // the shortest that reads back as this value
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + 'f';
}

}  // namespace tenon::converter
