#include "sdk/tools/tool.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

namespace tenon::tool {

void FailWith(const ConvertError& error, const std::string& about) {
  Exit exit = kDeviceFailure;
  switch (error.kind) {
    case ConvertError::Kind::kUsage:
      exit = kUsage;
      break;
    case ConvertError::Kind::kInput:
      exit = kInputRefused;
      break;
    case ConvertError::Kind::kDoesNotFit:
      exit = kDoesNotFit;
      break;
    case ConvertError::Kind::kBackend:
    case ConvertError::Kind::kInternal:
      break;
  }
  throw Failure{exit, about.empty() ? error.message : about + ": " + error.message, error.details};
}

namespace {

/// Usage error unless there is text on both sides of the '=' at `equals`.
std::pair<std::string, std::string> SplitAt(const std::string& text, size_t equals,
                                            const char* option) {
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    Fail(kUsage, "{} wants NAME=VALUE, not '{}'", option, text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

std::pair<std::string, std::string> SplitAssignment(const std::string& text, const char* option) {
  return SplitAt(text, text.find('='), option);
}

std::pair<std::string, std::string> SplitLastAssignment(const std::string& text,
                                                        const char* option) {
  return SplitAt(text, text.rfind('='), option);
}

std::pair<std::string, std::string> SplitFileAssignment(const std::string& text,
                                                        const char* option) {
  const size_t first = text.find('=');
  for (size_t i = first; i != std::string::npos; i = text.find('=', i + 1)) {
    std::error_code error;  // a name that is too long for a file is none
    if (i > 0 && std::filesystem::exists(text.substr(i + 1), error))
      return SplitAt(text, i, option);
  }
  return SplitAt(text, first, option);
}

std::pair<std::string, std::string> SplitPortFile(const std::string& text, const char* option,
                                                  const std::vector<std::string>& ports) {
  std::error_code error;
  const bool is_file = text.find('=') == std::string::npos || std::filesystem::exists(text, error);
  if (!is_file) return SplitFileAssignment(text, option);
  if (ports.size() == 1) return {ports[0], text};
  Fail(kUsage, "{} wants NAME=FILE, not '{}': NAME is one of '{}'", option, text,
       fmt::join(ports, "', '"));
}

CLI::Validator AtLeast(int minimum) {
  const auto check = [minimum](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
    if (is_number && value >= minimum) return "";
    return fmt::format("give a number from {} on, not '{}'", minimum, text);
  };
  return CLI::Validator(check, fmt::format(">={}", minimum));
}

CLI::Validator Between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return "";
    return fmt::format("give a number from {:g} to {:g}, not '{}'", least, most, text);
  };
  return CLI::Validator(check, fmt::format("in [{:g}, {:g}]", least, most));
}

int64_t ParseBytes(const std::string& text, const char* option) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  int64_t unit = 0;
  const std::string suffix(rest, end);
  if (suffix.empty()) unit = 1;
  if (suffix == "K" || suffix == "k") unit = int64_t{1} << 10;
  if (suffix == "M" || suffix == "m") unit = int64_t{1} << 20;
  if (suffix == "G" || suffix == "g") unit = int64_t{1} << 30;
  if (error != std::errc() || value < 0 || unit == 0 ||
      value > std::numeric_limits<int64_t>::max() / unit) {
    Fail(kUsage, "{} wants a number of bytes (K, M or G may follow), not '{}'", option, text);
  }
  return value * unit;
}

}  // namespace tenon::tool
