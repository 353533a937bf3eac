// Errors as values, without heap: a code, a constant message, and the numbers to put into it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"

namespace tenon {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,     ///< The caller's mistake: wrong name, shape, type, null pointer.
  kFailedPrecondition,  ///< Right call, wrong moment (run before every input is bound, say).
  kCorruptPlan,         ///< The plan file is damaged or breaks one of its own rules.
  kUnsupportedVersion,  ///< The plan was made for a newer runtime.
  kUnsupported,         ///< Well-formed, but this build cannot do it (kernel or backend missing).
  kOutOfMemory,         ///< A buffer that the caller gave is too small, or the system has no more.
  kBackendFailure,      ///< A device or library call failed.
  kDeadlineExceeded,    ///< A wait outlived its deadline.
  kIoError,             ///< A file could not be read or written.
};

/// Constant English text for a code, never null.
[[nodiscard]] const char* StatusCodeText(StatusCode code);

/// Outcome of an operation. Never allocates and is cheap to copy.
///
/// The message is a string constant with the placeholders {0} {1} {2} for up to three integers and
/// {s} for the subject, a name that the error is about. The subject is borrowed: it points into a
/// string constant or into the plan, and lives as long as that does.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(StatusCode code, const char* message, int64_t a = 0, int64_t b = 0,
                   int64_t c = 0)
      : code_(code), message_(message), arguments_{a, b, c} {}

  /// The same error, naming what it is about.
  [[nodiscard]] Status About(const char* subject) const;

  /// The same error, saying where it happened: "opencl: conv_5: ..." for `.In("conv_5")` and then
  /// `.In("opencl")`. Keeps the last two. `place` is borrowed like a subject.
  [[nodiscard]] Status In(const char* place) const;

  [[nodiscard]] constexpr bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] constexpr StatusCode code() const { return code_; }
  [[nodiscard]] constexpr const char* message() const { return message_; }
  [[nodiscard]] constexpr const char* subject() const { return subject_; }
  [[nodiscard]] constexpr int64_t argument(size_t index) const { return arguments_[index]; }

  /// Writes the message with its placeholders filled, NUL-terminated and cut to the buffer; a
  /// subject that the message does not place is put in front ("conv_3: ..."). Returns the number
  /// of bytes written, without the NUL. Does nothing on an empty buffer.
  size_t Format(Span<char> buffer) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  const char* message_ = "";
  const char* subject_ = nullptr;
  const char* places_[2] = {};  ///< outermost first
  int64_t arguments_[3] = {};
};

[[nodiscard]] constexpr Status OkStatus() { return Status(); }

/// Status(...) in a function of its own: there are hundreds of errors, all of them rare.
[[nodiscard]] Status MakeError(StatusCode code, const char* message, int64_t a = 0, int64_t b = 0,
                               int64_t c = 0);

/// A value or the Status that says why there is none. T must be default-constructible and cheap
/// to copy: Result is for views and handles, not for containers.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(const T& value) : value_(value) {}        // NOLINT: implicit on purpose
  Result(const Status& error) : status_(error) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const T& value() const { return value_; }
  [[nodiscard]] const T& operator*() const { return value_; }
  [[nodiscard]] const T* operator->() const { return &value_; }

 private:
  Status status_;
  T value_{};
};

}  // namespace tenon

/// Returns the error of `expression` from the enclosing function, if it is one.
#define TENON_RETURN_IF_ERROR(expression)                         \
  do {                                                            \
    if (auto tenon_status_ = (expression); !tenon_status_.ok()) { \
      return tenon_status_;                                       \
    }                                                             \
  } while (false)

/// Returns Status(StatusCode::code, message, ...) from the enclosing function unless `condition`.
#define TENON_ENSURE(condition, code, ...)                               \
  do {                                                                   \
    if (!(condition)) {                                                  \
      return ::tenon::MakeError(::tenon::StatusCode::code, __VA_ARGS__); \
    }                                                                    \
  } while (false)
