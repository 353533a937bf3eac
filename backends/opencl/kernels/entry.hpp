// Makes rows of the kernel table.
#pragma once

#include "backends/opencl/device/guarded.hpp"
#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/constant_caps.hpp"

namespace tenon::opencl {

/// Is the result of KernelEntry::check for a kernel with this predicate and layout.
[[nodiscard]] Status CheckOperands(const KernelSetup& setup, const char* reason, LayoutNeed need);

template <const char* (*supports)(const OpCall&), LayoutNeed need>
Status Check(const KernelSetup& setup) {
  return CheckOperands(setup, supports(setup.op), need);
}

/// Makes an entry whose `load` makes a LoadedOp.
template <Reason (*supports)(const OpCall&), LayoutNeed need, auto load, auto run>
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row) {
  return {caps.id,
          &row,
          Check<supports, need>,
          Guarded<load>::Call,
          Guarded<OpenOp>::Call,
          Guarded<run>::Call,
          CloseOp,
          UnloadOp,
          HeldBytes};
}

/// Makes an entry with its own life cycle, and perhaps more to check.
template <Reason (*supports)(const OpCall&), LayoutNeed need, auto load, auto open, auto run,
          auto close, auto unload, auto held_bytes, auto check = Check<supports, need>>
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row) {
  return {caps.id, &row,   check,      Guarded<load>::Call, Guarded<open>::Call, Guarded<run>::Call,
          close,   unload, held_bytes, caps.packing_key};
}

}  // namespace tenon::opencl
