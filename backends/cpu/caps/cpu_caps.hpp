// What the CPU backend can run, as pure data and predicates: the converter chooses kernels by
// these, without linking the kernels.
#pragma once

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::cpu {

using tenon::KernelCaps;
using tenon::LayoutNeed;
using tenon::WeightsOrder;

/// Every kernel in order of priority: the first of an op's kind that supports it is taken.
/// `portable_only` leaves out what needs a library or an instruction set.
[[nodiscard]] Span<const KernelCaps> Kernels();
[[nodiscard]] bool IsPortable(const KernelCaps& caps);

/// What a board that names the set has beside the portable kernels: "vector", our own fast kernels
/// without those of libraries; or an instruction set of Cortex-M (cortex_m_caps.hpp). Empty for
/// other names.
[[nodiscard]] Span<const KernelCaps> KernelsOfSet(const char* set);

/// The same, as the mapper takes it.
[[nodiscard]] BackendCaps CpuCaps();

}  // namespace tenon::cpu
