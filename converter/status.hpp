// Errors of the converter: host code, so messages are strings.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.hpp"

namespace tenon::converter {

/// The exit status of `tenon` that an error leads to (contract: usage 2, input refused 3, does not
/// fit 4, device failure 5).
enum class ErrorKind { kUsage, kInput, kDoesNotFit, kBackend, kInternal };

/// What went wrong, where, and what to do: one line, then details (one per line).
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
  std::vector<std::string> details;
};

/// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

/// A value or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}             // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}         // NOLINT: implicit on purpose
  Result(const Status& status) : error_(status.error()) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() { return &*value_; }
  [[nodiscard]] const T* operator->() const { return &*value_; }
  [[nodiscard]] Status status() const { return ok() ? Status() : Status(error_); }

 private:
  std::optional<T> value_;
  Error error_;
};

template <typename... Args>
[[nodiscard]] Error InputError(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorKind::kInput, fmt::format(format, std::forward<Args>(args)...), {}};
}
template <typename... Args>
[[nodiscard]] Error UsageError(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...), {}};
}
template <typename... Args>
[[nodiscard]] Error InternalError(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorKind::kInternal, fmt::format(format, std::forward<Args>(args)...), {}};
}

/// A runtime status in words.
[[nodiscard]] inline std::string ToString(const tenon::Status& status) {
  char text[256];
  const size_t size = status.Format(Span<char>(text, sizeof text));
  return std::string(text, size);
}

}  // namespace tenon::converter

/// Declares `variable` as the value of a Result expression, or returns its error.
#define TENON_ASSIGN_OR_RETURN(variable, expression) \
  TENON_ASSIGN_OR_RETURN_IMPL_(TENON_CONCAT_(tenon_result_, __LINE__), variable, expression)
#define TENON_CONCAT_INNER_(a, b) a##b
#define TENON_CONCAT_(a, b) TENON_CONCAT_INNER_(a, b)
#define TENON_ASSIGN_OR_RETURN_IMPL_(result, variable, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.error();                         \
  variable = std::move(*result)
