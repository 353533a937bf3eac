// Every kernel on bytes. All give the same bits as the portable kernels, on every instruction set
// and whatever the number of threads.
#pragma once

#include "backends/cpu/kernels/bytes/byte_routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::bytes {

Status DepthwiseCheck(const KernelSetup& setup);
Status DepthwiseLoad(const KernelSetup& setup, void** shared);
Status DepthwiseRun(const KernelCall& call);
size_t DepthwiseBytes(const void* shared, const void* state);

// What they share.
Status Open(const KernelSetup& setup, void* shared, void** state);
void Unload(void* shared);
/// The state is the routines that were chosen.
Status OpenRoutines(const KernelSetup& setup, void* shared, void** state);

/// Channels of the input and of the output, image tensors, are neighbours in memory.
Status CheckDenseChannels(const OpCall& op);

/// Of an output of i8 or u8.
[[nodiscard]] ByteOutput ByteOutputOf(const QuantizedOutput& output);

/// A check's answer for the reason that a `Supports` predicate gave, null meaning none.
[[nodiscard]] inline Status CheckResult(const char* reason) {
  return reason == nullptr ? OkStatus() : Status(StatusCode::kUnsupported, reason);
}

}  // namespace tenon::cpu::bytes
