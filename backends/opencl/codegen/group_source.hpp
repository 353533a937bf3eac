// Merges the kernels of ops that start together (docs/methods.md, F6).
//
// What an op does in launches that wait for each other is in phases: the first launches of all ops
// are merged into one kernel, the second ones into another, which starts when the first is done.
// Most ops have one phase, and so have their groups.
//
// Each launch of each op becomes a sub-kernel: its function, with its work-groups one after another
// in one dimension behind those of the launches before it. The generated source follows prelude.cl,
// and is built with the options that all programs have. It has a kernel for every phase, named by
// GroupKernelName; the parameters of each are, for each sub-kernel, those of the function and then
//   int4 groups  number of work-groups in three dimensions, and of all together
//   int4 items   work-items of a work-group, in the same way
// On devices made of a CPU's cores a work-group has one work-item, which loops over those of the
// sub-kernel's; on others as many as the largest work-group of any sub-kernel, of which some may
// idle. Functions that share local memory are called by these too, since all have to reach the
// barriers, and have it from the kernel, so that sub-kernels use the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/opencl/codegen/programs.hpp"
#include "runtime/ops/op_kind.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// One launch of an op.
struct SubKernel {
  ProgramChoice on_cpu;      ///< on devices made of a CPU's cores
  ProgramChoice with_local;  ///< on devices with local memory of their own; the same function,
                             ///< which may end in one more parameter: local memory
  std::string options;       ///< on all others, of the file and function on a CPU
  int local_floats = 0;      ///< of local memory, where there is that parameter
  uint32_t phase = 0;        ///< waits for all launches of earlier phases
};

/// More phases than this are not worth one start.
inline constexpr uint32_t kMostPhases = 6;

/// What an op does on the device, in the order in which its kernel makes its launches.
struct LoweredOp {
  std::vector<SubKernel> launches;
  const char* why_not = nullptr;  ///< reason against its being part of a group, or null
};

/// Lowers an op that `kernel` runs ("opencl.conv.tile:7x16"). Constant inputs have data; dims and
/// strides are those of the plan.
[[nodiscard]] LoweredOp LowerOp(OpKind kind, const char* kernel, const OpCall& op);

/// Returns the number of parameters that a launch takes, with its ranges.
[[nodiscard]] uint32_t ParameterCount(const SubKernel& launch);
/// Returns a bound of the bytes of these parameters, as clSetKernelArg counts them.
[[nodiscard]] int32_t ParameterBytes(const SubKernel& launch);
/// Every device takes kernels with so many bytes of parameters (CL_DEVICE_MAX_PARAMETER_SIZE).
inline constexpr int32_t kMostParameterBytes = 1024;

/// Returns the name of the kernel that makes the launches of a phase.
[[nodiscard]] std::string GroupKernelName(uint32_t phase);

/// Returns the source of the kernels that make all launches. Deterministic; launches of the same
/// program share its text.
[[nodiscard]] std::string GroupSource(const std::vector<SubKernel>& launches);

}  // namespace tenon::opencl
