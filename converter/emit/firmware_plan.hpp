// What firmware takes from a plan: which kernels it must link, and whether it can run it at all.
#pragma once

#include <string>
#include <vector>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

/// The C link name of a kernel for firmware: "tenon_kernel_cpu_conv_portable" of
/// "cpu.conv.portable". Empty for ids of kernels that have none: those that use the heap or an
/// operating system.
[[nodiscard]] std::string KernelLinkName(std::string_view kernel_id);

/// Link names of the kernels that the plan's program names, each once, in the order in which ops
/// name them first. Errors (kUsage) where firmware cannot run the plan, saying what to convert
/// otherwise: several programs or workers, rings, other backends than the CPU, kernels without a
/// link name.
[[nodiscard]] Result<std::vector<std::string>> FirmwareKernels(const PlanView& plan);

}  // namespace tenon::converter
