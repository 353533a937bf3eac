#include <cstring>
#include <vector>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

int64_t IndexAt(const TensorView& indices, size_t offset) {
  if (indices.dtype == DType::kI32) return indices.As<const int32_t>()[offset];
  return indices.As<const int64_t>()[offset];
}

/// The loops over the indices that lie apart: where one is repeated, that is its place once.
LoopNest<1> PlacesOf(const TensorView& indices) {
  LoopNest<1> nest;
  for (int k = 0; k < indices.rank; ++k) {
    if (indices.strides[k] != 0) nest.Add(indices.dims[k], indices.strides[k]);
  }
  return nest;
}

/// Where the slabs of x start that the indices name, each at its index's own place. So the table is
/// no larger than the constant, however often an index is repeated. What lies between the indices
/// stays 0, and no work-item looks at it.
Status MakeTable(const OpCall& op, std::vector<int32_t>* table) {
  const int axis = op.AttributesAs<GatherAttributes>().axis;
  const TensorView& x = op.Input(GatherInput::kX);
  const TensorView& indices = op.Input(GatherInput::kIndices);
  const int64_t limit = x.dims[axis];
  const bool is_needed = op.Output().Elements() != 0;
  const size_t places = SpanBytes(indices) / static_cast<size_t>(DTypeBytes(indices.dtype));
  const LoopNest<1> nest = PlacesOf(indices);
  const auto count = places != 0 ? static_cast<size_t>(nest.Elements()) : 0;
  TENON_ENSURE(count <= places, kCorruptPlan, "gather: {0} indices lie in the place of {1}",
               static_cast<int64_t>(count), static_cast<int64_t>(places));
  table->assign(is_needed ? places : 0, 0);
  for (size_t i = 0; i < count; ++i) {
    size_t place = 0;
    size_t rest = i;
    for (int k = nest.rank - 1; k >= 0; --k) {
      const auto dim = static_cast<size_t>(nest.dims[k]);
      place += rest % dim * static_cast<size_t>(nest.strides[0][k]);
      rest /= dim;
    }
    const int64_t index = IndexAt(indices, place);
    TENON_ENSURE(index >= -limit && index < limit, kInvalidArgument,
                 "gather: index {0} is outside a dimension of {1} elements", index, limit);
    // Of an x that has elements, the check has bounded how far they lie apart (CheckOperands).
    const int64_t start = (index < 0 ? index + limit : index) * x.strides[axis];
    if (is_needed) (*table)[place] = static_cast<int32_t>(start);
  }
  return OkStatus();
}

}  // namespace

Status GatherLoad(const KernelSetup& setup, void** shared) {
  std::vector<int32_t> table;
  TENON_RETURN_IF_ERROR(MakeTable(setup.op, &table));
  LoadedOp* loaded = nullptr;
  constexpr uint32_t kIndices = 1U << 1;
  TENON_RETURN_IF_ERROR(LoadOp(setup, GatherProgram(setup.op), &loaded, kIndices));
  return AddTable(loaded, table.data(), table.size() * sizeof(int32_t), shared);
}

Status GatherRun(const KernelCall& call) {
  const int axis = call.op.AttributesAs<GatherAttributes>().axis;
  const TensorView& x = call.op.Input(GatherInput::kX);
  const TensorView& indices = call.op.Input(GatherInput::kIndices);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<3> nest;  // y, x without its gathered axis, the table
  int out = 0;
  for (int k = 0; k < axis; ++k, ++out) nest.Add(y.dims[out], y.strides[out], x.strides[k], 0);
  for (int k = 0; k < indices.rank; ++k, ++out) {
    nest.Add(y.dims[out], y.strides[out], 0, indices.strides[k]);
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
