#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/copy_strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

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

}  // namespace tenon::cpu::portable
