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
  nest.Simplify();
  Status status;
  ForEachRow(nest, {{indices.As<char>()}}, nullptr, [&](const Cursor<1>& cursor, int count) {
    for (int i = 0; i < count && status.ok(); ++i) {
      const int64_t index = ReadIndex(cursor.at[0] + i * nest.RowStride(0), indices.dtype);
      if (index < -int64_t{limit} || index >= limit) {
        status =
            MakeError(StatusCode::kInvalidArgument,
                      "gather: index {0} is outside a dimension of {1} elements", index, limit);
      }
    }
  });
  return status;
}

struct Axis {
  int64_t size;
  ptrdiff_t stride;  ///< of x along it, in bytes

  [[nodiscard]] ptrdiff_t Offset(int64_t index) const {
    return static_cast<ptrdiff_t>(index < 0 ? index + size : index) * stride;
  }
};

/// The bytes that one index takes, where they lie together in x and in y and those of the next
/// index follow; else 0.
ptrdiff_t SlabBytes(const TensorView& y, const TensorView& x, const TensorView& indices, int axis) {
  if (indices.rank == 0) return 0;
  ptrdiff_t bytes = DTypeBytes(x.dtype);
  for (int k = x.rank - 1; k > axis; --k) {
    const int out = k + indices.rank - 1;
    if (x.dims[k] != 1 && (ByteStride(x, k) != bytes || ByteStride(y, out) != bytes)) return 0;
    bytes *= x.dims[k];
  }
  const bool follow =
      ByteStride(x, axis) == bytes && ByteStride(y, axis + indices.rank - 1) == bytes;
  return follow ? bytes : 0;
}

/// Loops over y (operand 0), x without its gathered axis (1) and the indices (2); over slabs: as
/// SlabBytes means them, not over what is in them.
LoopNest<3> MakeNest(const TensorView& y, const TensorView& x, const TensorView& indices, int axis,
                     bool over_slabs) {
  LoopNest<3> nest;
  int out = 0;
  for (int k = 0; k < axis; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), ByteStride(x, k), 0);
  }
  for (int k = 0; k < indices.rank; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), 0, ByteStride(indices, k));
  }
  for (int k = axis + 1; k < x.rank && !over_slabs; ++k, ++out) {
    nest.Add(y.dims[out], ByteStride(y, out), ByteStride(x, k), 0);
  }
  nest.Simplify();
  return nest;
}

/// Copies slabs of `elements` that follow one another in y; those whose indices follow one another,
/// as those of a signal's frames do, at once.
void GatherSlabs(const LoopNest<3>& nest, const Cursor<3>& start, const Axis& gathered, DType dtype,
                 int64_t elements, const ParallelRunner* parallel) {
  const ptrdiff_t strides[3] = {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)};
  // Rows may run over a dimension before the gathered one, where there is one index only.
  const bool over_indices = strides[0] == gathered.stride && strides[1] == 0;
  RowSharing sharing;
  sharing.least = sharing.least / elements + 1;
  sharing.piece = static_cast<int32_t>(sharing.piece / elements + 1);
  const auto body = [&](const Cursor<3>& cursor, int count) {
    const auto place = [&](int i) {
      return gathered.Offset(ReadIndex(cursor.at[2] + i * strides[2], dtype)) + i * strides[1];
    };
    for (int first = 0; first < count;) {
      const ptrdiff_t from = place(first);
      int run = 1;
      while (over_indices && first + run < count &&
             place(first + run) == from + run * gathered.stride) {
        ++run;
      }
      std::memcpy(cursor.at[0] + first * strides[0], cursor.at[1] + from,
                  static_cast<size_t>(run * gathered.stride));
      first += run;
    }
  };
  ForEachRow(nest, start, parallel, body, sharing);
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
  const ptrdiff_t slab_bytes = SlabBytes(y, x, indices, axis);
  const bool over_slabs = slab_bytes > 0;
  const LoopNest<3> nest = MakeNest(y, x, indices, axis, over_slabs);
  const Cursor<3> start = {{y.As<char>(), x.As<char>(), indices.As<char>()}};
  if (over_slabs) {
    GatherSlabs(nest, start, gathered, indices.dtype, slab_bytes / DTypeBytes(x.dtype),
                call.parallel);
    return OkStatus();
  }
  const ptrdiff_t strides[3] = {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)};
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
