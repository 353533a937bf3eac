#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/indices.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// Looks at every index before anything is written, so that a refused run has no effect.
Status CheckIndices(const TensorView& indices, int32_t rows) {
  for (int32_t i = 0; i < indices.dims[0]; ++i) {
    const int64_t index = ReadIndex(indices.As<char>() + i * ByteStride(indices, 0), indices.dtype);
    TENON_ENSURE(index >= 0 && index < rows, kInvalidArgument,
                 "scatter: index {0} is outside of {1} rows", index, rows);
  }
  return OkStatus();
}

/// Elements that lie at a step, in bytes, of what is updated and of updates.
struct Run {
  char* to;
  const char* from;
  ptrdiff_t to_stride;
  ptrdiff_t from_stride;
  int32_t count;
};

template <typename T, typename Function>
void JoinElements(const Run& run, const Function& function) {
  if (run.to_stride == sizeof(T) && run.from_stride == sizeof(T)) {
    auto* const to = reinterpret_cast<T*>(run.to);
    const auto* const from = reinterpret_cast<const T*>(run.from);
    for (int32_t i = 0; i < run.count; ++i) to[i] = function(to[i], from[i]);
    return;
  }
  for (int32_t i = 0; i < run.count; ++i) {
    auto& to = *reinterpret_cast<T*>(run.to + i * run.to_stride);
    to = function(to, *reinterpret_cast<const T*>(run.from + i * run.from_stride));
  }
}

/// Elements of rows that are one element each, and where in y they go.
struct Singles {
  const char* indices;
  ptrdiff_t index_stride;
  DType index_dtype;
  char* y;
  ptrdiff_t y_stride;
  const char* updates;
  ptrdiff_t update_stride;
  int32_t count;
};

template <typename T, typename Function>
void JoinElements(const Singles& singles, const Function& function) {
  for (int32_t i = 0; i < singles.count; ++i) {
    const int64_t index =
        ReadIndex(singles.indices + i * singles.index_stride, singles.index_dtype);
    auto& to = *reinterpret_cast<T*>(singles.y + static_cast<ptrdiff_t>(index) * singles.y_stride);
    to = function(to, *reinterpret_cast<const T*>(singles.updates + i * singles.update_stride));
  }
}

/// Integers wrap: `Wide` is their unsigned type. A NaN that is there stays.
template <typename Elements, typename T, typename Wide = T>
void Join(ScatterFunction function, const Elements& elements) {
  switch (function) {
    case ScatterFunction::kAdd:
      return JoinElements<T>(elements, [](T old, T update) {
        return static_cast<T>(static_cast<Wide>(old) + static_cast<Wide>(update));
      });
    case ScatterFunction::kMul:
      return JoinElements<T>(elements, [](T old, T update) {
        return static_cast<T>(static_cast<Wide>(old) * static_cast<Wide>(update));
      });
    case ScatterFunction::kMax:
      return JoinElements<T>(elements, [](T old, T update) {
        return old > update || old != old ? old : update;  // NOLINT(misc-redundant-expression)
      });
    default:
      return JoinElements<T>(elements, [](T old, T update) {
        return old < update || old != old ? old : update;  // NOLINT(misc-redundant-expression)
      });
  }
}

template <typename Elements>
using JoinFunction = void (*)(ScatterFunction function, const Elements& elements);

template <typename Elements>
JoinFunction<Elements> JoinFor(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return Join<Elements, double>;
    case DType::kI32:
      return Join<Elements, int32_t, uint32_t>;
    case DType::kI64:
      return Join<Elements, int64_t, uint64_t>;
    default:
      return Join<Elements, float>;
  }
}

/// `row` has been simplified.
void JoinRow(const LoopNest<2>& row, char* to, const char* from, ScatterFunction function,
             JoinFunction<Run> join) {
  if (row.rank < 2) {
    join(function, {to, from, row.RowStride(0), row.RowStride(1), row.RowLength()});
    return;
  }
  const int outer = row.rank - 1;
  Odometer<2> odometer(row, outer, {{to, const_cast<char*>(from)}}, 0);  // which only reads it
  for (int64_t left = row.Elements() / row.RowLength(); left > 0; --left, odometer.Next()) {
    join(function, {odometer.cursor().at[0], odometer.cursor().at[1], row.RowStride(0),
                    row.RowStride(1), row.RowLength()});
  }
}

/// One after the other, since one may be updated several times.
void UpdateSingles(const Singles& singles, ScatterFunction function, DType dtype) {
  if (function != ScatterFunction::kReplace) return JoinFor<Singles>(dtype)(function, singles);
  WithWord(DTypeBytes(dtype), [&](auto word) {
    using T = decltype(word);
    JoinElements<T>(singles, [](T /*old*/, T update) { return update; });
  });
}

/// Row after row, since a row may be updated several times.
void UpdateRows(const KernelCall& call) {
  const ScatterFunction function = call.op.AttributesAs<ScatterAttributes>().function;
  const TensorView& indices = call.op.Input(ScatterInput::kIndices);
  const TensorView& updates = call.op.Input(ScatterInput::kUpdates);
  const TensorView& y = call.op.Output();
  LoopNest<2> row;
  for (int k = 1; k < y.rank; ++k) row.Add(y.dims[k], ByteStride(y, k), ByteStride(updates, k));
  row.Simplify();
  if (row.rank == 0 && y.dims[0] > 0) {
    const Singles singles = {indices.As<char>(),     ByteStride(indices, 0), indices.dtype,
                             y.As<char>(),           ByteStride(y, 0),       updates.As<char>(),
                             ByteStride(updates, 0), indices.dims[0]};
    UpdateSingles(singles, function, y.dtype);
    return;
  }
  const JoinFunction<Run> join = JoinFor<Run>(y.dtype);
  for (int32_t i = 0; i < indices.dims[0]; ++i) {
    const int64_t index = ReadIndex(indices.As<char>() + i * ByteStride(indices, 0), indices.dtype);
    char* to = y.As<char>() + static_cast<ptrdiff_t>(index) * ByteStride(y, 0);
    const char* from = updates.As<char>() + i * ByteStride(updates, 0);
    if (function == ScatterFunction::kReplace) {
      CopyStrided(row, DTypeBytes(y.dtype), to, from, call.parallel);
    } else {
      JoinRow(row, to, from, function, join);
    }
  }
}

}  // namespace

Status ScatterRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(ScatterInput::kX);
  const TensorView& y = call.op.Output();
  TENON_RETURN_IF_ERROR(CheckIndices(call.op.Input(ScatterInput::kIndices), y.dims[0]));
  if (y.Elements() == 0) return OkStatus();
  CopyView(y, x, call.parallel);
  UpdateRows(call);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
