// Every fast quantized kernel's functions. All are exact: they give the bits that the portable
// kernels give, on every instruction set and whatever the number of threads.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::quantized {

/// A check's answer for the reason that a `Supports` predicate gave, null meaning none.
[[nodiscard]] inline Status CheckResult(const char* reason) {
  return reason == nullptr ? OkStatus() : Status(StatusCode::kUnsupported, reason);
}

}  // namespace tenon::cpu::quantized
