// Converts internal results to the public form (tenon/converter.hpp).
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "converter/status.hpp"
#include "tenon/converter.hpp"

namespace tenon::converter {

[[nodiscard]] inline ConvertError ToPublic(const Error& error) {
  // Both enumerations list the kinds in the same order.
  static_assert(static_cast<int>(ConvertError::Kind::kInternal) ==
                static_cast<int>(ErrorKind::kInternal));
  return {static_cast<ConvertError::Kind>(error.kind), error.message, error.details};
}

/// Returns what `make` returns, a Result<T>. Exceptions become errors.
template <typename T, typename Make>
[[nodiscard]] Outcome<T> ToOutcome(const Make& make) {
  try {
    Result<T> made = make();
    if (!made.ok()) return ToPublic(made.error());
    return std::move(*made);
  } catch (const std::bad_alloc&) {
    return ConvertError{ConvertError::Kind::kDoesNotFit, "out of memory", {}};
  } catch (const std::exception& error) {
    return ConvertError{
        ConvertError::Kind::kInternal, std::string("internal: ") + error.what(), {}};
  }
}

}  // namespace tenon::converter
