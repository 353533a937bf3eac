#include <cstring>
#include <vector>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

using In = GatherInput;

int64_t ReadIndex(const TensorView& indices, size_t offset) {
  if (indices.dtype == DType::kI32) return indices.As<const int32_t>()[offset];
  return indices.As<const int64_t>()[offset];
}

/// Where the slabs of x start that the indices name, in their row-major order.
Status MakeTable(const OpCall& op, std::vector<int32_t>* table) {
  const int axis = op.AttributesAs<GatherAttributes>().axis;
  const TensorView& x = op.Input(In::kX);
  const TensorView& indices = op.Input(In::kIndices);
  const int64_t limit = x.dims[axis];
  const auto count = static_cast<size_t>(indices.Elements());
  table->resize(count);
  for (size_t i = 0; i < count; ++i) {
    size_t offset = 0;
    size_t rest = i;
    for (int k = indices.rank - 1; k >= 0; --k) {
      const auto dim = static_cast<size_t>(indices.dims[k]);
      offset += rest % dim * static_cast<size_t>(indices.strides[k]);
      rest /= dim;
    }
    const int64_t index = ReadIndex(indices, offset);
    TENON_ENSURE(index >= -limit && index < limit, kInvalidArgument,
                 "gather: index {0} is outside a dimension of {1} elements", index, limit);
    (*table)[i] = static_cast<int32_t>((index < 0 ? index + limit : index) * x.strides[axis]);
  }
  return OkStatus();
}

}  // namespace

Status GatherLoad(const KernelSetup& setup, void** shared) {
  std::vector<int32_t> table;
  TENON_RETURN_IF_ERROR(MakeTable(setup.op, &table));
  LoadedOp* loaded = nullptr;
  constexpr uint32_t kIndices = 1U << 1;
  TENON_RETURN_IF_ERROR(
      LoadOp(setup, {"gather.cl", WordOption(setup.op.Output()), "gather"}, &loaded, kIndices));
  return AddTable(loaded, table.data(), table.size() * sizeof(int32_t), shared);
}

Status GatherRun(const KernelCall& call) {
  const int axis = call.op.AttributesAs<GatherAttributes>().axis;
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& indices = call.op.Input(In::kIndices);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<3> nest;  // y, x without its gathered axis, the table
  int out = 0;
  for (int k = 0; k < axis; ++k, ++out) nest.Add(y.dims[out], y.strides[out], x.strides[k], 0);
  int32_t step = static_cast<int32_t>(indices.Elements());
  for (int k = 0; k < indices.rank; ++k, ++out) {
    step /= indices.dims[k];
    nest.Add(y.dims[out], y.strides[out], 0, step);
  }
  for (int k = axis + 1; k < x.rank; ++k, ++out) {
    nest.Add(y.dims[out], y.strides[out], x.strides[k], 0);
  }
  nest.Simplify();
  nest.LengthenRows();
  RowOperand table;
  table.table = static_cast<const OpenedOp*>(call.state)->loaded->tables.data();
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}, table});
}

}  // namespace tenon::opencl
