#include "runtime/ops/stored_operands.hpp"

#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

bool Has(const OpCall& call, int index) { return index >= 0 && call.HasInput(index); }

Status CheckVector(const OpCall& call, int index, int32_t count) {
  const TensorView& vector = call.Input(index);
  TENON_ENSURE(vector.dtype == DType::kF32 && vector.rank == 1 && vector.dims[0] == count,
               kInvalidArgument, "input {0} must be a vector of {1} elements of f32", index, count);
  return OkStatus();
}

Status CheckWeights(const OpCall& call, const StorageInputs& storage, DType computes_in) {
  const DType dtype = call.Input(GemmInput::kWeights).dtype;
  if (Has(call, storage.w_scale)) {
    TENON_ENSURE(dtype == DType::kI8, kInvalidArgument,
                 "a scale of the weights (input {0}) goes with weights of i8 only",
                 storage.w_scale);
    TENON_ENSURE(computes_in == DType::kF32, kInvalidArgument,
                 "weights of i8 are for products in f32");
    return CheckVector(call, storage.w_scale, storage.outputs);
  }
  const bool stored_as_half = dtype == DType::kF16 && computes_in == DType::kF32;
  TENON_ENSURE(dtype != DType::kI8 || computes_in != DType::kF32, kInvalidArgument,
               "weights of i8 need a scale (input {0})", storage.w_scale);
  TENON_ENSURE(dtype == computes_in || stored_as_half, kInvalidArgument,
               "input 1 has another dtype than input 0");
  return OkStatus();
}

}  // namespace

Status CheckGemmDTypes(const OpCall& call, const StorageInputs& storage, DType* computes_in) {
  const DType x = call.Input(GemmInput::kX).dtype;
  if (Has(call, storage.x_mean)) {
    TENON_ENSURE(x == DType::kU8, kInvalidArgument,
                 "a mean of the input (input {0}) goes with an input of u8 only", storage.x_mean);
    TENON_RETURN_IF_ERROR(CheckVector(call, storage.x_mean, storage.channels));
    *computes_in = DType::kF32;
  } else {
    TENON_ENSURE(IsComputeFloat(x), kInvalidArgument, "operands must be f32, f16 or f64");
    *computes_in = x;
  }
  TENON_RETURN_IF_ERROR(CheckWeights(call, storage, *computes_in));
  for (int i = GemmInput::kBias; i < call.InputCount() && i < storage.w_scale; ++i) {
    if (!call.HasInput(i)) continue;
    TENON_ENSURE(call.Input(i).dtype == *computes_in, kInvalidArgument,
                 "input {0} has another dtype than input 0", i);
  }
  return OkStatus();
}

}  // namespace tenon
