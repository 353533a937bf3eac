// Chooses the kernel that executes an op of a plan.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// An op of a program that has passed the plan check, and the name of the kernel planned for it.
/// All borrowed. `setup` has what its operands look like; a variant is not told. `board` is the
/// plan's, for the words of errors.
struct KernelQuery {
  const ProgramView& program;
  const OpInfo& info;
  const char* name;
  const KernelSetup& setup;
  const char* board = "";
};

/// The kernel called so, which may say a variant; where `kernels` or the processor lack it, the
/// first other one that takes the same operands and no more workspace. Checks the operands against
/// the op's rule, and that what the output takes over is read in time: where the kernel that was
/// planned finds the plan wrong, no other is asked. Firmware has no heap: kernels with `load` or
/// `open` are passed over there. Errors: kCorruptPlan (operands, attributes or workspace that the
/// op's rule or kernels refuse), kUnsupported (no kernel for the op), the kernel's own refusal.
Status ChooseKernel(const KernelQuery& query, const KernelList& kernels, size_t* chosen);

/// Checks that a workspace (a tensor's index in an arena; -1: none) is aligned as kernels need it.
Status CheckWorkspace(const ProgramView& program, int32_t workspace);

}  // namespace tenon
