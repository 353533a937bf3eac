// Finds what firmware needs to know of a plan: whether it can run the plan, which kernels it must
// link, and how much memory it must provide in addition to the arenas.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

// Finds which kernels firmware must link for a plan, and whether it can run the plan.

/// Returns the C link name of a kernel for firmware: "tenon_kernel_cpu_conv_portable" for
/// "cpu.conv.portable". Empty for kernels that have none, since they use the heap or an operating
/// system.
[[nodiscard]] std::string KernelLinkName(std::string_view kernel_id);

/// Returns the link names of the kernels that the plan's program uses, each once, in the order of
/// their first use. Errors (kUsage) where firmware cannot run the plan; the message says how to
/// convert it instead: several programs or workers, rings, other backends than the CPU, kernels
/// without a link name.
[[nodiscard]] Result<std::vector<std::string>> FirmwareKernels(const PlanView& plan);

// Computes the memory that firmware provides for a plan in addition to the arenas, before it runs.

// The results are upper bounds for targets with 32-bit addresses, computed from the plan's counts.
// They rely on sizes of the runtime's structures, which tests/firmware/state_bytes.cpp checks.

/// Returns a bound of tenon_plan_state_size plus tenon_session_state_size, both rounded up to 16.
[[nodiscard]] size_t FirmwareStateBytes(const PlanView& plan);

/// Returns a bound of tenon_plan_scratch_size.
[[nodiscard]] size_t FirmwareScratchBytes(const PlanView& plan);

}  // namespace tenon::converter
