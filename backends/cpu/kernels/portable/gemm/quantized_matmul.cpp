#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/gemm/quantized_operands.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// One matrix as a product: rows are its positions, columns its outputs.
QuantizedProduct Prepare(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& a = call.Input(0);
  const TensorView& b = call.Input(1);
  const TensorView& y = call.Output();
  const int transpose_a = attributes.matmul.transpose_a != 0 ? 1 : 0;
  const int transpose_b = attributes.matmul.transpose_b != 0 ? 1 : 0;
  QuantizedProduct product;
  SetQuantizedOperands(call, attributes.output, product);
  product.channels = a.dims[a.rank - 1 - transpose_a];
  product.outputs = y.dims[y.rank - 1];
  product.in_extent[1] = product.out_extent[1] = y.dims[y.rank - 2];
  product.x_channel = a.strides[a.rank - 1 - transpose_a];
  product.x_column = a.strides[a.rank - 2 + transpose_a];
  product.w_channel = b.strides[b.rank - 2 + transpose_b];
  product.w_output = b.strides[b.rank - 1 - transpose_b];
  product.y_output = y.strides[y.rank - 1];
  product.y_column = y.strides[y.rank - 2];
  return product;
}

QuantizedProduct ProductOf(const QuantizedProduct& prepared, const OpCall& call, int batch) {
  const TensorView& y = call.Output();
  QuantizedProduct product = prepared;
  product.x += BatchOffset(batch, y, call.Input(0));
  product.w += BatchOffset(batch, y, call.Input(1));
  MoveOutput(product, BatchOffset(batch, y, y));
  return product;
}

}  // namespace

Status QuantizedMatMulCheck(const KernelSetup& setup) {
  return CheckResult(QuantizedSupports(setup.op));
}

Status QuantizedMatMulRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const QuantizedProduct prepared = Prepare(call.op);
  const int tasks = QuantizedTasks(prepared);
  int batches = 1;
  for (int axis = 0; axis + 2 < y.rank; ++axis) batches *= y.dims[axis];
  ParallelFor(call.parallel, batches * tasks, [&](int begin, int end) {
    while (begin < end) {
      const int batch = begin / tasks;
      const QuantizedProduct product = ProductOf(prepared, call.op, batch);
      const int batch_end = (batch + 1) * tasks < end ? (batch + 1) * tasks : end;
      for (; begin < batch_end; ++begin) RunQuantizedTask(product, begin - batch * tasks);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
