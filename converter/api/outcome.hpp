// The converter's results in the public form (tenon/converter.hpp).
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "converter/status.hpp"
#include "tenon/converter.hpp"

namespace tenon::converter {

[[nodiscard]] inline ConvertError ToPublic(const Error& error) {
  ConvertError out{ConvertError::Kind::kInternal, error.message, error.details};
  switch (error.kind) {
    case ErrorKind::kUsage:
      out.kind = ConvertError::Kind::kUsage;
      break;
    case ErrorKind::kInput:
      out.kind = ConvertError::Kind::kInput;
      break;
    case ErrorKind::kDoesNotFit:
      out.kind = ConvertError::Kind::kDoesNotFit;
      break;
    case ErrorKind::kBackend:
      out.kind = ConvertError::Kind::kBackend;
      break;
    case ErrorKind::kInternal:
      break;
  }
  return out;
}

/// What `make` gives, a Result<T>. Exceptions are errors.
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
