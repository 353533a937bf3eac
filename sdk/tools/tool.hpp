// What the subcommands of `tenon` share: exit statuses and how errors are said.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tenon/converter.hpp"

// Only files that add options include CLI11: what its headers define takes seconds to compile.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace tenon::tool {

/// Exit statuses of `tenon` (docs: README, "Exit status").
enum Exit : int {
  kDone = 0,
  kNo = 1,  ///< the answer is no: check failed, expectation not met
  kUsage = 2,
  kInputRefused = 3,  ///< unreadable, malformed, unsupported
  kDoesNotFit = 4,
  kDeviceFailure = 5,  ///< device or backend failed, or an output could not be written
};

/// Ends the command: caught in main, which prints it as `tenon: error: message`, then the details.
struct Failure {
  Exit exit;
  std::string message;
  std::vector<std::string> details;
};

template <typename... Args>
[[noreturn]] void Fail(Exit exit, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{exit, fmt::format(format, std::forward<Args>(args)...), {}};
}

/// Ends the command with the exit status of the converter's error. `about`: what it is about, where
/// the message does not say; may be empty.
[[noreturn]] void FailWith(const ConvertError& error, const std::string& about = "");

/// Adds a subcommand to the application; its callback does the work and throws Failure.
void AddConvert(CLI::App& app);
void AddRun(CLI::App& app);
void AddBench(CLI::App& app);
void AddInspect(CLI::App& app);
void AddExplain(CLI::App& app);
void AddReport(CLI::App& app);
void AddDiff(CLI::App& app);
void AddCheck(CLI::App& app);
void AddBoards(CLI::App& app);
void AddOps(CLI::App& app);
void AddPlace(CLI::App& app);
void AddProfile(CLI::App& app);

/// Splits "NAME=VALUE" of option `option` at its first '='. Usage error if there is no '=' or an
/// empty side.
[[nodiscard]] std::pair<std::string, std::string> SplitAssignment(const std::string& text,
                                                                  const char* option);

/// The same at the last '=', where values have none: names of tensors may.
[[nodiscard]] std::pair<std::string, std::string> SplitLastAssignment(const std::string& text,
                                                                      const char* option);

/// Splits "NAME=FILE", where either side may have some '=': at the first behind which is the name
/// of a file that exists, else at the first. The same usage error.
[[nodiscard]] std::pair<std::string, std::string> SplitFileAssignment(const std::string& text,
                                                                      const char* option);

/// The same of a port's file, where a file alone is that of the only name in `ports`. The usage
/// error says which there are.
[[nodiscard]] std::pair<std::string, std::string> SplitPortFile(
    const std::string& text, const char* option, const std::vector<std::string>& ports);

/// Accepts finite numbers from `minimum` on, for CLI11's `check`.
[[nodiscard]] CLI::Validator AtLeast(int minimum);

/// Finite numbers from `least` to `most`. (CLI::Range takes NaN.)
[[nodiscard]] CLI::Validator Between(double least, double most);

/// Bytes with an optional K, M or G (powers of 1024); usage error naming `option` otherwise.
[[nodiscard]] int64_t ParseBytes(const std::string& text, const char* option);

}  // namespace tenon::tool
