#include "converter/emit/firmware_memory.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

constexpr size_t kHandles = 256;     ///< of plan and session, alignment included
constexpr size_t kPerOp = 4;         ///< its kernel's address
constexpr size_t kPerArena = 4;      ///< its address
constexpr size_t kPerPort = 8;       ///< where it is bound, and its storage
constexpr size_t kPerOperand = 20;   ///< a tensor's view and number, for the op that has most
constexpr size_t kOperandsEnd = 16;  ///< their alignment

/// Of the plan check: lists of every use of a storage, times of ops and storages.
constexpr size_t kPerReference = 6;  ///< the use, and which is next
constexpr size_t kPerOpChecked = 2;
constexpr size_t kPerStorageChecked = 8;
constexpr size_t kChecked = 48;

struct Operands {
  size_t most = 0;  ///< of one op, with its workspace
  size_t all = 0;   ///< with ports, and two more for each op
};

Operands CountOperands(const ProgramView& program) {
  Operands operands;
  operands.all = program.input_count() + program.output_count();
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpInfo op = program.op(i);
    const size_t count = op.inputs.size() + op.outputs.size();
    operands.most = std::max(operands.most, count + 1);
    operands.all += count + 2;
  }
  return operands;
}

}  // namespace

size_t FirmwareStateBytes(const ProgramView& program) {
  const size_t ports = program.input_count() + program.output_count();
  const size_t bytes = kHandles + kPerOp * program.op_count() + kPerArena * program.arena_count() +
                       kPerPort * ports + kPerOperand * CountOperands(program).most + kOperandsEnd;
  return (bytes + 15) / 16 * 16;
}

size_t FirmwareScratchBytes(const ProgramView& program) {
  const Operands operands = CountOperands(program);
  const size_t check = kChecked + kPerReference * operands.all +
                       kPerOpChecked * program.op_count() +
                       kPerStorageChecked * program.storage_count();
  const size_t binding = kPerOperand * operands.most + kOperandsEnd;
  return (std::max({check, binding, program.storage_count()}) + 15) / 16 * 16;
}

}  // namespace tenon::converter
