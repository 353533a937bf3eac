// What firmware takes from a plan: which kernels it must link, whether it can run it at all, and
// what memory besides the arenas it gives.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

// What firmware takes from a plan: which kernels it must link, and whether it can run it at all.

/// The C link name of a kernel for firmware: "tenon_kernel_cpu_conv_portable" of
/// "cpu.conv.portable". Empty for ids of kernels that have none: those that use the heap or an
/// operating system.
[[nodiscard]] std::string KernelLinkName(std::string_view kernel_id);

/// Link names of the kernels that the plan's program names, each once, in the order in which ops
/// name them first. Errors (kUsage) where firmware cannot run the plan, saying what to convert
/// otherwise: several programs or workers, rings, other backends than the CPU, kernels without a
/// link name.
[[nodiscard]] Result<std::vector<std::string>> FirmwareKernels(const PlanView& plan);

// What memory beside the arenas firmware gives for a plan, known before it runs.

// Upper bounds for targets with 32-bit addresses, from the plan's counts; the sizes of the
// runtime's own structures that they stand for are held by tests/firmware/state_bytes.cpp.

/// Of tenon_plan_state_size and tenon_session_state_size together, both rounded up to 16.
[[nodiscard]] size_t FirmwareStateBytes(const PlanView& plan);

/// Of tenon_plan_scratch_size.
[[nodiscard]] size_t FirmwareScratchBytes(const PlanView& plan);

}  // namespace tenon::converter
