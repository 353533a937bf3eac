#include <algorithm>

#include "converter/emit/firmware_plan.hpp"
#include "runtime/base/round_up.hpp"
namespace tenon::converter {
namespace {

constexpr size_t kHandles = 160;    ///< of plan and session, alignment included
constexpr size_t kPerOp = 1;        ///< which kernel
constexpr size_t kPerSection = 4;   ///< its address
constexpr size_t kPerArena = 4;     ///< its address
constexpr size_t kPerPort = 8;      ///< its storage, and what it is bound to
constexpr size_t kPerOperand = 20;  ///< of the op with the most: its view and its number

/// Of the plan check: lists of every use of a storage, times of ops and storages.
constexpr size_t kPerReference = 6;  ///< the use, and which is next
constexpr size_t kPerOpChecked = 2;
constexpr size_t kPerStorageChecked = 8;
constexpr size_t kChecked = 48;

bool IsInArena(const ProgramView& program, int32_t tensor) {
  if (tensor < 0) return false;
  const uint32_t storage = program.tensor_storage(static_cast<size_t>(tensor));
  return program.storage(storage).home == StorageHome::kArena;
}

/// Counts the operands of all ops in arenas, a workspace for each op, and ports.
size_t CountReferences(const ProgramView& program) {
  size_t count = program.input_count() + program.output_count();
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpOperands operands = program.op_operands(i);
    count += operands.outputs.size() + 1;
    for (const int32_t input : operands.inputs) count += IsInArena(program, input) ? 1 : 0;
  }
  return count;
}

/// Returns the most operands of any op: inputs, outputs and a workspace.
size_t MostOperands(const ProgramView& program) {
  size_t most = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpOperands operands = program.op_operands(i);
    most = std::max(most, operands.inputs.size() + operands.outputs.size() + 1);
  }
  return most;
}

/// The unit in which firmware counts memory.
constexpr size_t kUnit = 16;

}  // namespace

size_t FirmwareStateBytes(const PlanView& plan) {
  const ProgramView program = plan.program(0);
  return RoundUp(kHandles + kPerOp * program.op_count() + kPerSection * plan.section_count() +
                     kPerArena * program.arena_count() +
                     kPerPort * (program.input_count() + program.output_count()) +
                     kPerOperand * MostOperands(program),
                 kUnit);
}

size_t FirmwareScratchBytes(const PlanView& plan) {
  const ProgramView program = plan.program(0);
  const size_t check = kChecked + kPerReference * CountReferences(program) +
                       kPerOpChecked * program.op_count() +
                       kPerStorageChecked * program.storage_count();
  const size_t binding = kPerOperand * MostOperands(program);
  return RoundUp(std::max(check, binding), kUnit);
}

}  // namespace tenon::converter
