#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/indices.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/base/config.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename T>
constexpr auto kBytesOf = static_cast<ptrdiff_t>(sizeof(T));

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Returns true and the first of a row's indices that is outside, if one is.
template <typename T>
bool FindOutside(const char* indices, ptrdiff_t stride, int count, int32_t limit, int64_t* found) {
  const auto is_outside = [limit](T index) { return index < -limit || index >= limit; };
  if (stride == sizeof(T)) {
    bool any = false;
    for (ptrdiff_t i = 0; i < count; ++i) any |= is_outside(Load<T>(indices + i * kBytesOf<T>));
    if (!any) return false;
  }
  for (int i = 0; i < count; ++i) {
    *found = Load<T>(indices + i * stride);
    if (is_outside(static_cast<T>(*found))) return true;
  }
  return false;
}

/// Looks at every index before anything is written, so that a refused run has no effect.
Status CheckIndices(const TensorView& indices, int32_t limit) {
  LoopNest<1> nest;
  for (int k = 0; k < indices.rank; ++k) nest.Add(indices.dims[k], ByteStride(indices, k));
  nest.Simplify();
  Status status;
  ForEachRow(nest, {{indices.As<char>()}}, nullptr, [&](const Cursor<1>& cursor, int count) {
    if (!status.ok()) return;
    const auto find = indices.dtype == DType::kI32 ? FindOutside<int32_t> : FindOutside<int64_t>;
    int64_t index = 0;
    if (!find(cursor.at[0], nest.RowStride(0), count, limit, &index)) return;
    status = MakeError(StatusCode::kInvalidArgument,
                       "gather: index {0} is outside a dimension of {1} elements", index, limit);
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

/// Copies one element for each index.
template <typename T, typename Index>
void GatherElements(const Cursor<3>& cursor, const ptrdiff_t* strides, const Axis& gathered,
                    int count) {
  const bool is_dense = strides[0] == sizeof(T) && strides[1] == 0 && strides[2] == sizeof(Index) &&
                        gathered.stride == sizeof(T);
  if (is_dense) {
    const auto size = static_cast<Index>(gathered.size);
    for (ptrdiff_t i = 0; i < count; ++i) {
      const auto index = Load<Index>(cursor.at[2] + i * kBytesOf<Index>);
      const auto place = static_cast<ptrdiff_t>(index + (index < 0 ? size : 0));
      std::memcpy(cursor.at[0] + i * kBytesOf<T>, cursor.at[1] + place * kBytesOf<T>, sizeof(T));
    }
    return;
  }
  for (ptrdiff_t i = 0; i < count; ++i) {
    const int64_t index = Load<Index>(cursor.at[2] + i * strides[2]);
    std::memcpy(cursor.at[0] + i * strides[0],
                cursor.at[1] + i * strides[1] + gathered.Offset(index), sizeof(T));
  }
}

/// Copies slabs of kBytes, so few that a call would take longer than the copy.
template <int kBytes>
void CopySmallSlabs(const Cursor<3>& cursor, const ptrdiff_t* strides, const Axis& gathered,
                    DType dtype, int count) {
  char* to = cursor.at[0];
  for (int i = 0; i < count; ++i, to += strides[0]) {
    const ptrdiff_t from =
        gathered.Offset(ReadIndex(cursor.at[2] + i * strides[2], dtype)) + i * strides[1];
    std::memcpy(to, cursor.at[1] + from, kBytes);
  }
}

/// The same of any size that has such a form; else returns false.
bool CopySmallSlabs(const Cursor<3>& cursor, const ptrdiff_t* strides, const Axis& gathered,
                    DType dtype, int count) {
  switch (gathered.stride) {
    case 8:
      CopySmallSlabs<8>(cursor, strides, gathered, dtype, count);
      return true;
    case 12:
      CopySmallSlabs<12>(cursor, strides, gathered, dtype, count);
      return true;
    case 16:
      CopySmallSlabs<16>(cursor, strides, gathered, dtype, count);
      return true;
    case 32:
      CopySmallSlabs<32>(cursor, strides, gathered, dtype, count);
      return true;
    case 64:
      CopySmallSlabs<64>(cursor, strides, gathered, dtype, count);
      return true;
    default:
      return false;
  }
}

/// Slabs that lie one after the other in x as in y: the `count` of them that come next in y.
struct SlabRun {
  ptrdiff_t from;
  int count;
};

/// The runs of a row of slabs, where every row has the same and these are long: images that are
/// unfolded into windows have such. They are found once and not for each row.
class SlabRuns {
 public:
  SlabRuns(const LoopNest<3>& nest, const Cursor<3>& start, const Axis& gathered, DType dtype) {
    constexpr int kShortRun = 4;
    const int row = nest.rank - 1;
    if (row < 1 || nest.strides[0][row] != gathered.stride || nest.strides[1][row] != 0) return;
    for (int k = 0; k < row; ++k) {
      if (nest.strides[2][k] != 0) return;
    }
    for (int i = 0; i < nest.dims[row]; ++i) {
      const ptrdiff_t from =
          gathered.Offset(ReadIndex(start.at[2] + i * nest.strides[2][row], dtype));
      if (count_ > 0) {
        SlabRun& last = runs_[count_ - 1];
        if (from == last.from + last.count * gathered.stride) {
          ++last.count;
          continue;
        }
      }
      if (count_ == kMost) {
        count_ = 0;
        return;
      }
      runs_[count_++] = {from, 1};
    }
    if (nest.dims[row] < kShortRun * count_) count_ = 0;
  }

  [[nodiscard]] bool IsEmpty() const { return count_ == 0; }

  /// Copies a whole row.
  void Copy(const Cursor<3>& cursor, ptrdiff_t bytes) const {
    char* to = cursor.at[0];
    for (int k = 0; k < count_; ++k) {
      const ptrdiff_t size = runs_[k].count * bytes;
      std::memcpy(to, cursor.at[1] + runs_[k].from, static_cast<size_t>(size));
      to += size;
    }
  }

 private:
  static constexpr int kMost = 64;
  SlabRun runs_[kMost];
  int count_ = 0;
};

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
  if constexpr (kHasWorkers) {  // firmware's images do without
    const SlabRuns runs(nest, start, gathered, dtype);
    if (!runs.IsEmpty()) {
      sharing.piece = nest.RowLength();
      return ForEachRow(
          nest, start, parallel,
          [&](const Cursor<3>& cursor, int) { runs.Copy(cursor, gathered.stride); }, sharing);
    }
  }
  const auto body = [&](const Cursor<3>& cursor, int count) {
    if (CopySmallSlabs(cursor, strides, gathered, dtype, count)) return;
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
      char* const to = cursor.at[0] + first * strides[0];
      if (run == 1 && gathered.stride == sizeof(float)) {
        std::memcpy(to, cursor.at[1] + from, sizeof(float));
      } else {
        std::memcpy(to, cursor.at[1] + from, static_cast<size_t>(run * gathered.stride));
      }
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
  LoopNest<3> nest = MakeNest(y, x, indices, axis, over_slabs);
  const Cursor<3> start = {{y.As<char>(), x.As<char>(), indices.As<char>()}};
  if (over_slabs) {
    GatherSlabs(nest, start, gathered, indices.dtype, slab_bytes / DTypeBytes(x.dtype),
                call.parallel);
    return OkStatus();
  }
  nest.LengthenRows();
  const ptrdiff_t strides[3] = {nest.RowStride(0), nest.RowStride(1), nest.RowStride(2)};
  WithWord(DTypeBytes(y.dtype), [&](auto word) {
    using T = decltype(word);
    ForEachRow(nest, start, call.parallel, [&](const Cursor<3>& cursor, int count) {
      if (strides[2] == 0) {  // the row lies in one gathered slab
        const char* slab = cursor.at[1] + gathered.Offset(ReadIndex(cursor.at[2], indices.dtype));
        CopyRow<T>(cursor.at[0], strides[0], slab, strides[1], count);
        return;
      }
      if (indices.dtype == DType::kI32) {
        GatherElements<T, int32_t>(cursor, strides, gathered, count);
      } else {
        GatherElements<T, int64_t>(cursor, strides, gathered, count);
      }
    });
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
