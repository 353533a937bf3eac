#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/copy_strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

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
