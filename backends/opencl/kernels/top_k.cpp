#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice TopKChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<TopKAttributes>();
  const char* options = attributes.smallest != 0 ? "-DSMALLEST" : "";
  if (attributes.count != 1) return {"top_k.cl", options, "top_k"};
  return ForRowGroup(setup, setup.op.Input(0).dims[attributes.axis], {"top_k.cl", options, "top_1"},
                     "top_1_group");
}

Status TopKRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<TopKAttributes>();
  const int axis = attributes.axis;
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> lines;  // y, x
  for (int k = 0; k < x.rank; ++k) {
    if (k != axis) lines.Add(x.dims[k], y.strides[k], x.strides[k]);
  }
  lines.Simplify();
  const RowLoops<2> loops(lines);
  const Int4 along = {{x.dims[axis], attributes.count, y.strides[axis], x.strides[axis]}};
  const size_t count = loops.Positions();
  Launch launch(call);
  return ForEachLaunch(lines, [&](const int64_t(&offsets)[2]) {
    TakeRows(launch, loops, offsets).Value(along);
    if (attributes.count == 1) return EnqueueRows(call, launch, count, x.dims[axis]);
    return launch.Enqueue(count * static_cast<size_t>(x.dims[axis]), kRowGroup);
  });
}

}  // namespace tenon::opencl
