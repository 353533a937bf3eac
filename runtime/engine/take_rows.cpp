#include "runtime/engine/take_rows.hpp"

#include "runtime/base/dtype.hpp"

namespace tenon {
namespace {

/// The input that a tensor shows rows of. There is one: the plan check has proven it.
size_t InputOf(const ProgramView& program, uint32_t tensor) {
  const uint32_t storage = program.tensor_storage(tensor);
  size_t input = 0;
  while (program.tensor_storage(program.input(input).tensor) != storage) ++input;
  return input;
}

}  // namespace

Status TakeRows(const ProgramView& program, size_t op, const OpCall& call, const RowSource* rows) {
  const TensorView& out = call.Output();
  auto bytes = static_cast<size_t>(DTypeBytes(out.dtype));
  for (int i = 0; i < out.rank; ++i) bytes *= static_cast<size_t>(out.dims[i]);
  if (bytes == 0) return OkStatus();
  TENON_ENSURE(rows != nullptr, kFailedPrecondition,
               "an input comes by rows, and nobody hands them in");
  const size_t input = InputOf(program, static_cast<uint32_t>(program.op_operands(op).inputs[0]));
  TENON_ENSURE(rows->next(rows->context, input, out.data, bytes) == 0, kIoError,
               "rows of input {0} could not be had", static_cast<int64_t>(input));
  return OkStatus();
}

}  // namespace tenon
