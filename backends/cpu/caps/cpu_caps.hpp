// What the CPU backend can run, as pure data and predicates: the converter chooses kernels by
// these, without linking the kernels. The list of kernels is kernels.inc.
#pragma once

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::cpu {

using tenon::KernelCaps;
using tenon::LayoutNeed;
using tenon::WeightsOrder;

/// Every kernel of hosts in order of priority: the first of an op's kind that supports it is taken.
[[nodiscard]] Span<const KernelCaps> Kernels();

/// What a board that names the set has beside the portable kernels: "vector", our own fast kernels
/// without those of libraries; or an instruction set of Cortex-M (cortex_m_caps.hpp). Empty for
/// other names.
[[nodiscard]] Span<const KernelCaps> KernelsOfSet(const char* set);

/// The kernel that plans call `name` (its id, with a variant or without), whichever set it is of.
/// Null: there is none.
[[nodiscard]] const KernelCaps* CapsNamed(const char* name);

/// The same, as the mapper takes it.
[[nodiscard]] BackendCaps CpuCaps();

}  // namespace tenon::cpu
