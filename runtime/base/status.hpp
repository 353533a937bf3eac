// Errors as values, without heap: a code, a constant message, and the numbers to put into it.
// Builds without words (config.hpp) keep the number of the message and one of the numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/config.hpp"
#include "runtime/base/message.hpp"
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

#ifndef TENON_WITHOUT_WORDS

/// Outcome of an operation. Never allocates and is cheap to copy.
///
/// The message is a string constant with the placeholders {0} {1} {2} for up to three integers and
/// {s} for the subject, a name that the error is about. The subject is borrowed: it points into a
/// string constant or into the plan, and lives as long as that does.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(StatusCode code, Message message, int64_t a = 0, int64_t b = 0, int64_t c = 0)
      : code_(code), message_(message.text()), arguments_{a, b, c} {}

  /// The same error, naming what it is about.
  [[nodiscard]] Status About(const char* subject) const;

  /// The same error, saying where it happened: "opencl: conv_5: ..." for `.In("conv_5")` and then
  /// `.In("opencl")`. Keeps the last two. `place` is borrowed like a subject.
  [[nodiscard]] Status In(const char* place) const;

  /// The same error of op number `op`, for builds without words; the others have its name.
  [[nodiscard]] const Status& AtOp(size_t /*op*/) const { return *this; }

  /// Returns the same error with another code, for callers that know better whose fault it is.
  [[nodiscard]] Status As(StatusCode code) const;

  [[nodiscard]] constexpr bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] constexpr StatusCode code() const { return code_; }
  [[nodiscard]] constexpr const char* message() const { return message_; }
  [[nodiscard]] constexpr const char* subject() const { return subject_; }
  [[nodiscard]] constexpr int64_t argument(size_t index) const { return arguments_[index]; }

  /// Writes the message with its placeholders filled, NUL-terminated and cut to the buffer; a
  /// subject that the message does not place is put in front ("conv_3: ..."). Without words:
  /// "error 3a7f (5)", the message's number and its first integer (2047: that, or more), or
  /// "error 3a7f at 5" for op number 5. Returns the number of bytes written, without the NUL. Does
  /// nothing on an empty buffer.
  size_t Format(Span<char> buffer) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  const char* message_ = "";
  const char* subject_ = nullptr;
  const char* places_[2] = {};  ///< outermost first
  int64_t arguments_[3] = {};
};

/// Calls Status(...) out of line, since there are hundreds of errors and all are rare.
[[nodiscard]] Status MakeError(StatusCode code, Message message, int64_t a = 0, int64_t b = 0,
                               int64_t c = 0);

#else

/// The same interface in one word, which functions return in a register: the code in bits 0 to 3,
/// whether the argument is an op's number in bit 4, the first argument in bits 5 to 15 (the largest
/// stands for all that are larger), the message's number in bits 16 to 31. Names are left out.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  [[gnu::always_inline]] constexpr Status(StatusCode code, Message message)
      : bits_(static_cast<uint32_t>(code) | uint32_t{message.number()} << 16) {}
  [[gnu::always_inline]] Status(StatusCode code, Message message, int64_t a, int64_t /*b*/ = 0,
                                int64_t /*c*/ = 0)
      : Status(WithArgument(Status(code, message).bits_, static_cast<uint32_t>(a))) {}

  [[nodiscard]] const Status& About(const char* /*subject*/) const { return *this; }
  [[nodiscard]] const Status& In(const char* /*place*/) const { return *this; }
  [[nodiscard]] Status AtOp(size_t op) const;
  [[nodiscard]] Status As(StatusCode code) const;

  [[nodiscard]] constexpr bool ok() const { return bits_ == 0; }
  [[nodiscard]] constexpr StatusCode code() const { return static_cast<StatusCode>(bits_ & 15); }
  [[nodiscard]] constexpr uint16_t number() const { return static_cast<uint16_t>(bits_ >> 16); }
  [[nodiscard]] constexpr uint32_t argument() const { return bits_ >> 5 & kMostArgument; }
  [[nodiscard]] constexpr bool is_at_op() const { return (bits_ & kAtOp) != 0; }

  size_t Format(Span<char> buffer) const;

 private:
  static constexpr uint32_t kAtOp = 16;
  static constexpr uint32_t kMostArgument = 2047;

  [[gnu::noinline]] static Status WithArgument(uint32_t bits, uint32_t argument);

  uint32_t bits_ = 0;
};

template <typename... Arguments>
[[nodiscard, gnu::always_inline]] inline Status MakeError(StatusCode code, Message message,
                                                          Arguments... arguments) {
  return Status(code, message, static_cast<int64_t>(arguments)...);
}

#endif

[[nodiscard]] constexpr Status OkStatus() { return Status(); }

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
