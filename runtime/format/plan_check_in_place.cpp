// Plan check, part 9: an op that says it works in place is one that can.
//
// The parts before have proven that the output takes over exactly the elements of an input. Whether
// each is read before the one in its place is written only the op knows, or a kernel that keeps
// what it reads again: by the plan format, its id ends in "_in_place". Loading asks the kernel
// itself; ops that code runs, or that are checked without their kernels, only this part holds to
// their word. Firmware has loading alone.
#include <cstring>

#include "runtime/format/plan_check_workers.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::plan_check {
namespace {

constexpr const OpRow* kRows[] = {
#define TENON_OP(Kind, name, number) &k##Kind##Row,
#include "runtime/ops/ops.inc"
};

/// True if the kernel is one that writes over its first input.
bool IsInPlaceKernel(const char* name) {
  constexpr char kEnd[] = "_in_place";
  constexpr size_t kLength = sizeof kEnd - 1;
  const size_t length = KernelIdLength(name);
  return length >= kLength && std::memcmp(name + length - kLength, kEnd, kLength) == 0;
}

/// Inputs (bit mask) that the output may take over, by whichever kernel the op is run.
uint32_t AllowedInputs(const ProgramCheck& check, const OpInfo& op) {
  bool by_kernel = IsInPlaceKernel(check.plan.kernel(op.kernel));
  if (op.fallback_kernel >= 0) {
    by_kernel &= IsInPlaceKernel(check.plan.kernel(static_cast<size_t>(op.fallback_kernel)));
  }
  return kRows[op.kind]->in_place_inputs | (by_kernel ? 1U : 0U);
}

}  // namespace

void CheckInPlace(ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < check.ops && !check.reporter.stopped(); ++i) {
    const OpInfo op = program.op(i);
    if (op.in_place < 0) continue;
    const uint32_t allowed = AllowedInputs(check, op);
    const auto storage_of = [&](int32_t tensor) {
      return program.tensor_storage(static_cast<size_t>(tensor));
    };
    const uint32_t taken = storage_of(op.inputs[static_cast<size_t>(op.in_place)]);
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] < 0 || storage_of(op.inputs[k]) != taken) continue;
      if (k < 32 && (allowed >> k & 1U) != 0) continue;
      check.Fail(op.name, "op {0}: its output takes over input {1}, which such an op reads again",
                 i, k);
    }
  }
}

}  // namespace tenon::plan_check
