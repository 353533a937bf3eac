// Every fast quantized kernel's functions. All are exact: they give the bits that the portable
// kernels give, on every instruction set and whatever the number of threads.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::quantized {

Status ConvCheck(const KernelSetup& setup);
Status ConvLoad(const KernelSetup& setup, void** shared);
Status ConvRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulLoad(const KernelSetup& setup, void** shared);
Status MatMulRun(const KernelCall& call);

/// `open` and `unload` of both: a session's state is what was loaded.
Status Open(const KernelSetup& setup, void* shared, void** state);
void Unload(void* shared);

/// Inputs from the third on are dense.
Status CheckVectors(const OpCall& op);

/// A check's answer for the reason that a `Supports` predicate gave, null meaning none.
[[nodiscard]] inline Status CheckResult(const char* reason) {
  return reason == nullptr ? OkStatus() : Status(StatusCode::kUnsupported, reason);
}

}  // namespace tenon::cpu::quantized
