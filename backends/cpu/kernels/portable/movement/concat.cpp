#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/copy_strided.hpp"
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

}  // namespace tenon::cpu::portable
