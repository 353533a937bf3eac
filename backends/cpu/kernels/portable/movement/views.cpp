// These ops are one strided copy, or one for each input.
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

Status ConcatRun(const KernelCall& call) {
  const int axis = call.op.AttributesAs<ConcatAttributes>().axis;
  const TensorView& y = call.op.Output();
  char* part_data = y.As<char>();
  for (int i = 0; i < call.op.InputCount(); ++i) {
    const TensorView& x = call.op.Input(i);
    TensorView part = y;
    part.data = part_data;
    part.dims = x.dims;
    CopyView(part, x, call.parallel);
    part_data += x.dims[axis] * ByteStride(y, axis);
  }
  return OkStatus();
}

Status ExpandRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], ByteStride(y, k), BroadcastByteStride(x, y.rank, k));
  }
  CopyStrided(nest, DTypeBytes(y.dtype), y.data, x.data, call.parallel);
  return OkStatus();
}

Status SliceRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<SliceAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  const char* first = x.As<char>();
  for (int k = 0; k < y.rank; ++k) {
    const ptrdiff_t stride = ByteStride(x, k);
    first += attributes.begins[k] * stride;
    nest.Add(y.dims[k], ByteStride(y, k), attributes.steps[k] * stride);
  }
  CopyStrided(nest, DTypeBytes(y.dtype), y.data, first, call.parallel);
  return OkStatus();
}

Status TransposeRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<TransposeAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], ByteStride(y, k), ByteStride(x, attributes.permutation[k]));
  }
  CopyStrided(nest, DTypeBytes(y.dtype), y.data, x.data, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
