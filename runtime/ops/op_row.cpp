#include "runtime/ops/op_row.hpp"

namespace tenon {
namespace {

Status CheckOperands(const OpRow& row, const OpCall& call) {
  const int count = call.InputCount();
  TENON_ENSURE(count >= row.min_inputs, kInvalidArgument, "{0} inputs, but {1} are needed", count,
               row.min_inputs);
  const bool variadic = row.max_inputs < 0;
  TENON_ENSURE(variadic || count <= row.max_inputs, kInvalidArgument,
               "{0} inputs, but {1} at most are taken", count, row.max_inputs);
  const int required = variadic ? count : row.min_inputs;
  for (int i = 0; i < required; ++i) {
    TENON_ENSURE(call.HasInput(i), kInvalidArgument, "input {0} is missing", i);
  }
  TENON_ENSURE(call.attributes != nullptr || row.attribute_words == 0, kInvalidArgument,
               "the attributes are missing");
  return OkStatus();
}

bool HasShape(const TensorView& tensor, const Shape& shape) {
  bool same = tensor.rank == shape.rank;
  for (int i = 0; same && i < shape.rank; ++i) same = tensor.dims[i] == shape.dims[i];
  return same;
}

}  // namespace

Status InferOutputs(const OpRow& row, const OpCall& call, OutputType* outputs) {
  TENON_RETURN_IF_ERROR(CheckOperands(row, call));
  return row.infer(call, outputs);
}

Status CheckOpCall(const OpRow& row, const OpCall& call) {
  const auto count = static_cast<int>(call.output_ids.size());
  TENON_ENSURE(count == row.outputs, kInvalidArgument, "{0} outputs instead of {1}", count,
               row.outputs);
  for (int i = 0; i < count; ++i) {
    TENON_ENSURE(call.output_ids[static_cast<size_t>(i)] >= 0, kInvalidArgument,
                 "output {0} is missing", i);
  }
  OutputType types[kMaxOutputs];
  TENON_RETURN_IF_ERROR(InferOutputs(row, call, types));
  for (int i = 0; i < count; ++i) {
    const TensorView& output = call.Output(i);
    TENON_ENSURE(output.dtype == types[i].dtype, kInvalidArgument,
                 "output {0} has another dtype than the op gives", i);
    TENON_ENSURE(HasShape(output, types[i].shape), kInvalidArgument,
                 "output {0} has another shape than the op gives", i);
  }
  return OkStatus();
}

}  // namespace tenon
