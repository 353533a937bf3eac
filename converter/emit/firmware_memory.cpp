#include "converter/emit/firmware_memory.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

constexpr size_t kHandles = 256;   ///< of plan and session, alignment included
constexpr size_t kPerOp = 6;       ///< its kernel's address, and its place in the order
constexpr size_t kPerArena = 4;    ///< its address
constexpr size_t kPerTensor = 16;  ///< its view

/// Of the plan check: lists of every use of a storage, times of ops and storages.
constexpr size_t kPerReference = 6;  ///< the use, and which is next
constexpr size_t kPerOpChecked = 2;
constexpr size_t kPerStorageChecked = 8;
constexpr size_t kChecked = 48;

/// Operands of all ops with their workspaces, ports, and one more for each op.
size_t CountReferences(const ProgramView& program) {
  size_t count = program.input_count() + program.output_count();
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpOperands operands = program.op_operands(i);
    count += operands.inputs.size() + operands.outputs.size() + 2;
  }
  return count;
}

}  // namespace

size_t FirmwareStateBytes(const ProgramView& program) {
  const size_t bytes = kHandles + kPerOp * program.op_count() + kPerArena * program.arena_count() +
                       kPerTensor * program.tensor_count();
  return (bytes + 15) / 16 * 16;
}

size_t FirmwareScratchBytes(const ProgramView& program) {
  const size_t check = kChecked + kPerReference * CountReferences(program) +
                       kPerOpChecked * program.op_count() +
                       kPerStorageChecked * program.storage_count();
  const size_t binding = kPerTensor * program.tensor_count();
  return (std::max({check, binding, program.storage_count()}) + 15) / 16 * 16;
}

}  // namespace tenon::converter
