// Makes rows of the kernel table.
#pragma once

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::opencl {

/// Is the result of KernelEntry::check for a kernel with this predicate and layout.
[[nodiscard]] Status CheckOperands(const KernelSetup& setup, const char* reason, LayoutNeed need);

template <const char* (*supports)(const OpCall&), LayoutNeed need>
Status Check(const KernelSetup& setup) {
  return CheckOperands(setup, supports(setup.op), need);
}

/// Makes an entry whose `load` makes a LoadedOp.
template <Reason (*supports)(const OpCall&), LayoutNeed need>
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row,
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&)) {
  return {caps.id, &row, Check<supports, need>, load, OpenOp, run, CloseOp, UnloadOp, HeldBytes};
}

/// Makes an entry with its own life cycle, and perhaps more to check.
template <Reason (*supports)(const OpCall&), LayoutNeed need>
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row,
                            Status (*load)(const KernelSetup&, void**),
                            Status (*open)(const KernelSetup&, void*, void**),
                            Status (*run)(const KernelCall&), void (*close)(void*),
                            void (*unload)(void*), size_t (*held_bytes)(const void*, const void*),
                            Status (*check)(const KernelSetup&) = Check<supports, need>) {
  return {caps.id, &row, check, load, open, run, close, unload, held_bytes, caps.packing_key};
}

}  // namespace tenon::opencl
