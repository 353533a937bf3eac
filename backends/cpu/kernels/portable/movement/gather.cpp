#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/indices.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// Looks at every index before anything is written, so that a refused run has no effect.
Status CheckIndices(const TensorView& indices, int32_t limit) {
  LoopNest<1> nest;
  for (int k = 0; k < indices.rank; ++k) nest.Add(indices.dims[k], ByteStride(indices, k));
  Odometer<1> odometer(nest, nest.rank, {{indices.As<char>()}}, 0);
  for (int64_t i = indices.Elements(); i > 0; --i) {
    const int64_t index = ReadIndex(odometer.cursor().at[0], indices.dtype);
    TENON_ENSURE(index >= -int64_t{limit} && index < limit, kInvalidArgument,
                 "gather: index {0} is outside a dimension of {1} elements", index, limit);
    odometer.Next();
  }
  return OkStatus();
}

struct Axis {
  int64_t size;
  ptrdiff_t stride;  ///< of x along it, in bytes

  [[nodiscard]] ptrdiff_t Offset(int64_t index) const {
    return static_cast<ptrdiff_t>(index < 0 ? index + size : index) * stride;
  }
};

/// Loops over y (operand 0), x without its gathered axis (1) and the indices (2).
LoopNest<3> MakeNest(const TensorView& y, const TensorView& x, const TensorView& indices,
                     int axis) {
  LoopNest<3> nest;
  int out = 0;
  for (int k = 0; k < axis; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), ByteStride(x, k), 0);
  }
  for (int k = 0; k < indices.rank; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), 0, ByteStride(indices, k));
  }
  for (int k = axis + 1; k < x.rank; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), ByteStride(x, k), 0);
  }
  nest.Simplify();
  return nest;
}

}  // namespace

Status GatherRun(const KernelCall& call) {
  const int axis = call.op.AttributesAs<GatherAttributes>().axis;
  const TensorView& x = call.op.Input(GatherInput::kX);
  const TensorView& indices = call.op.Input(GatherInput::kIndices);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  TENON_RETURN_IF_ERROR(CheckIndices(indices, x.dims[axis]));
  const Axis gathered = {x.dims[axis], ByteStride(x, axis)};
  const LoopNest<3> nest = MakeNest(y, x, indices, axis);
  const ptrdiff_t strides[3] = {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)};
  const Cursor<3> start = {{y.As<char>(), x.As<char>(), indices.As<char>()}};
  WithWord(DTypeBytes(y.dtype), [&](auto word) {
    using T = decltype(word);
    ForEachRow(nest, start, call.parallel, [&](const Cursor<3>& cursor, int count) {
      if (strides[2] == 0) {  // the row lies in one gathered slab
        const char* slab = cursor.at[1] + gathered.Offset(ReadIndex(cursor.at[2], indices.dtype));
        CopyRow<T>(cursor.at[0], strides[0], slab, strides[1], count);
        return;
      }
      for (ptrdiff_t i = 0; i < count; ++i) {
        const int64_t index = ReadIndex(cursor.at[2] + i * strides[2], indices.dtype);
        std::memcpy(cursor.at[0] + i * strides[0],
                    cursor.at[1] + i * strides[1] + gathered.Offset(index), sizeof(T));
      }
    });
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
