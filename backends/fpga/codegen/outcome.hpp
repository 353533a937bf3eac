// The result of generating code: a value, or why there is none, in words for the user.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tenon::fpga {

/// Why an op cannot be run by the accelerator.
struct Refusal {
  int op = -1;  ///< its index in the segment; -1: the segment as a whole
  std::string reason;
};

template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}            // NOLINT: implicit on purpose
  Outcome(Refusal refusal) : value_(std::move(refusal)) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(value_); }
  [[nodiscard]] const Refusal& refusal() const { return std::get<Refusal>(value_); }
  T& operator*() { return std::get<T>(value_); }
  const T& operator*() const { return std::get<T>(value_); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }

 private:
  std::variant<T, Refusal> value_;
};

}  // namespace tenon::fpga
