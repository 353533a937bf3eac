#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// One matrix as a tile product: rows are its positions, columns its outputs.
TileProduct Prepare(const OpCall& call) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  const TensorView& a = call.Input(0);
  const TensorView& b = call.Input(1);
  const TensorView& y = call.Output();
  const int transpose_a = attributes.transpose_a != 0 ? 1 : 0;
  const int transpose_b = attributes.transpose_b != 0 ? 1 : 0;
  TileProduct product;
  product.activation = attributes.activation;
  product.channels = a.dims[a.rank - 1 - transpose_a];
  product.outputs = y.dims[y.rank - 1];
  product.in_extent[1] = product.out_extent[1] = y.dims[y.rank - 2];
  product.x_channel = a.strides[a.rank - 1 - transpose_a];
  product.x_column = a.strides[a.rank - 2 + transpose_a];
  product.w = StoredWeightsOf(call, 1, 3);
  product.w_channel = b.strides[b.rank - 2 + transpose_b];
  product.w_output = b.strides[b.rank - 1 - transpose_b];
  product.y_output = y.strides[y.rank - 1];
  product.y_column = y.strides[y.rank - 2];
  return product;
}

TileProduct ProductOf(const TileProduct& prepared, const OpCall& call, int batch) {
  const TensorView& y = call.Output();
  TileProduct product = prepared;
  product.x = call.Input(0).As<const float>() + BatchOffset(batch, y, call.Input(0));
  product.w_first = BatchOffset(batch, y, call.Input(1));
  product.y = y.As<float>() + BatchOffset(batch, y, y);
  if (call.HasInput(2)) {
    const TensorView& bias = call.Input(2);
    product.addends[0].data = bias.As<const float>() + BatchOffset(batch, y, bias);
    product.addends[0].output = BroadcastStride(bias, 1, 0);
    product.addends[0].column = BroadcastStride(bias, 2, 0);
  }
  return product;
}

}  // namespace

Status MatMulCheck(const KernelSetup& setup) { return CheckResult(MatMulSupports(setup.op)); }

Status MatMulRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const TileProduct prepared = Prepare(call.op);
  const int tasks = TileTasks(prepared);
  int batches = 1;
  for (int axis = 0; axis + 2 < y.rank; ++axis) batches *= y.dims[axis];
  ParallelFor(call.parallel, batches * tasks, [&](int begin, int end) {
    while (begin < end) {
      const int batch = begin / tasks;
      const TileProduct product = ProductOf(prepared, call.op, batch);
      const int batch_end = (batch + 1) * tasks < end ? (batch + 1) * tasks : end;
      for (; begin < batch_end; ++begin) RunTileTask(product, begin - batch * tasks);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
