// What the CPU backend can run, as pure data and predicates: the converter chooses kernels by
// these, without linking the kernels. The list of kernels is kernels.inc.
#pragma once

#include "runtime/base/span.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::cpu {

using tenon::KernelCaps;
using tenon::LayoutNeed;
using tenon::WeightsOrder;

/// Returns every kernel of hosts in order of priority: the first of an op's kind that supports it
/// is taken.
[[nodiscard]] Span<const KernelCaps> Kernels();

/// Returns oneDNN's, whether `Kernels` has them in this build (TENON_ONEDNN) or not.
[[nodiscard]] Span<const KernelCaps> OneDnnCaps();

/// Returns the kernels that a board which names the set has in addition to the portable ones. The
/// sets are "vector", our own fast kernels without those of libraries, and the instruction sets of
/// Cortex-M (cortex_m_caps.hpp). Other names give none.
[[nodiscard]] Span<const KernelCaps> KernelsOfSet(const char* set);

/// Returns the kernel that plans call `name` (its id, with or without a variant), from any set;
/// null if there is none.
[[nodiscard]] const KernelCaps* CapsNamed(const char* name);

/// Returns the kernels in the form that the mapper takes.
[[nodiscard]] BackendCaps CpuCaps();

}  // namespace tenon::cpu
