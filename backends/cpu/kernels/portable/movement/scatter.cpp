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

/// Integers wrap: `Wide` is their unsigned type.
template <typename T, typename Wide = T>
void Join(ScatterFunction function, char* to, const char* from) {
  T old;
  T update;
  std::memcpy(&old, to, sizeof(T));
  std::memcpy(&update, from, sizeof(T));
  const bool is_nan = old != old;  // NOLINT(misc-redundant-expression)
  if (function == ScatterFunction::kAdd) {
    old = static_cast<T>(static_cast<Wide>(old) + static_cast<Wide>(update));
  } else if (function == ScatterFunction::kMul) {
    old = static_cast<T>(static_cast<Wide>(old) * static_cast<Wide>(update));
  } else if (!is_nan && (function == ScatterFunction::kMax ? !(old > update) : !(old < update))) {
    old = update;
  }
  std::memcpy(to, &old, sizeof(T));
}

using JoinElement = void (*)(ScatterFunction function, char* to, const char* from);

JoinElement JoinFor(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return Join<double>;
    case DType::kI32:
      return Join<int32_t, uint32_t>;
    case DType::kI64:
      return Join<int64_t, uint64_t>;
    default:
      return Join<float>;
  }
}

void JoinRow(const LoopNest<2>& row, char* to, const char* from, ScatterFunction function,
             JoinElement join) {
  Odometer<2> odometer(row, row.rank, {{to, const_cast<char*>(from)}}, 0);  // which only reads it
  for (int64_t left = row.Elements(); left > 0; --left, odometer.Next()) {
    join(function, odometer.cursor().at[0], odometer.cursor().at[1]);
  }
}

/// Row after row, since a row may be updated several times.
void UpdateRows(const KernelCall& call) {
  const ScatterFunction function = call.op.AttributesAs<ScatterAttributes>().function;
  const TensorView& indices = call.op.Input(ScatterInput::kIndices);
  const TensorView& updates = call.op.Input(ScatterInput::kUpdates);
  const TensorView& y = call.op.Output();
  LoopNest<2> row;
  for (int k = 1; k < y.rank; ++k) row.Add(y.dims[k], ByteStride(y, k), ByteStride(updates, k));
  for (int32_t i = 0; i < indices.dims[0]; ++i) {
    const int64_t index = ReadIndex(indices.As<char>() + i * ByteStride(indices, 0), indices.dtype);
    char* to = y.As<char>() + static_cast<ptrdiff_t>(index) * ByteStride(y, 0);
    const char* from = updates.As<char>() + i * ByteStride(updates, 0);
    if (function == ScatterFunction::kReplace) {
      CopyStrided(row, DTypeBytes(y.dtype), to, from, call.parallel);
    } else {
      JoinRow(row, to, from, function, JoinFor(y.dtype));
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
