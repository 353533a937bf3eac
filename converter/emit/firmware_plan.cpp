#include "converter/emit/firmware_plan.hpp"

#include <algorithm>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

Status CheckProgram(const PlanView& plan) {
  if (plan.program_count() != 1) {
    return UsageError(
        "firmware runs one program, the plan holds {}: convert without --parallel and --fallback",
        plan.program_count());
  }
  const ProgramView program = plan.program(0);
  if (program.worker_count() != 1) {
    return UsageError(
        "firmware runs on one worker, the plan has {}: convert for a board with one unit, and "
        "without --parallel",
        program.worker_count());
  }
  for (size_t i = 0; i < program.arena_count(); ++i) {
    if (program.arena(i).slots != 1) {
      return UsageError("firmware has no rings of buffers: convert without --parallel=pipeline");
    }
  }
  for (size_t i = 0; i < plan.backend_count(); ++i) {
    const std::string_view backend = plan.backend(i);
    if (backend != "cpu") {
      return UsageError(
          "firmware runs ops on the CPU, the plan wants backend '{}': convert for a board whose "
          "units are of backend 'cpu'",
          backend);
    }
  }
  return {};
}

}  // namespace

std::string KernelLinkName(std::string_view kernel_id) {
  const KernelCaps* caps = cpu::CapsNamed(std::string(kernel_id).c_str());
  if (caps == nullptr || !caps->firmware) return {};
  std::string name = "tenon_kernel_";
  for (const char c : kernel_id) name += c == '.' ? '_' : c;
  return name;
}

Result<std::vector<std::string>> FirmwareKernels(const PlanView& plan) {
  TENON_RETURN_IF_ERROR(CheckProgram(plan));
  const ProgramView program = plan.program(0);
  std::vector<std::string> names;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpInfo op = program.op(i);
    const char* kernel = plan.kernel(op.kernel);
    const std::string_view id(kernel, KernelIdLength(kernel));
    std::string name = KernelLinkName(id);
    if (name.empty()) {
      return UsageError(
          "op '{}' has kernel '{}', which is not for firmware: convert for a board whose unit has "
          "\"kernels\": \"portable\", \"helium\" or \"dsp\"",
          op.name, id);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace tenon::converter
