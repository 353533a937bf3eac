// How a row of the kernel table is made.
#pragma once

#include "backends/opencl/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::opencl {

/// The answer of KernelEntry::check for a kernel with this predicate and layout.
[[nodiscard]] Status CheckOperands(const KernelSetup& setup, const char* reason, LayoutNeed need);

template <const char* (*supports)(const OpCall&), LayoutNeed need>
Status Check(const KernelSetup& setup) {
  return CheckOperands(setup, supports(setup.op), need);
}

/// An entry whose `load` gives a LoadedOp.
template <const char* (*supports)(const OpCall&), LayoutNeed need = LayoutNeed::kAny>
constexpr KernelEntry Entry(const char* id, const OpRow& row,
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&)) {
  return {id,        &row,   Check<supports, need>, load, OpenOp, run, CloseOp, UnloadOp,
          HeldBytes, nullptr};
}

}  // namespace tenon::opencl
