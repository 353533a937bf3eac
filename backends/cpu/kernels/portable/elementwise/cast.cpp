#include "backends/cpu/kernels/portable/elementwise/convert.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

// Elements go in two steps, source -> carrier -> destination, where the carrier is the smallest of
// five types that holds every value of the source: 13 + 5 * 13 loops instead of 13 * 13.
enum class Carrier { kFloat, kDouble, kInt32, kInt64, kUint64 };

constexpr Carrier CarrierOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBf16:
      return Carrier::kFloat;
    case DType::kF64:
      return Carrier::kDouble;
    case DType::kU32:
    case DType::kI64:
      return Carrier::kInt64;
    case DType::kU64:
      return Carrier::kUint64;
    default:
      return Carrier::kInt32;
  }
}

/// y[i] = function(x[i]). Both rows are contiguous.
template <typename From, typename To, typename Function>
void MapRow(const void* from, void* to, int count, Function function) {
  const auto* x = static_cast<const From*>(from);
  auto* y = static_cast<To*>(to);
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename From, typename Carried>
void LoadAs(const void* from, Carried* to, int count) {
  MapRow<From, Carried>(from, to, count, [](From x) { return static_cast<Carried>(x); });
}

void LoadRow(DType dtype, const void* from, float* to, int count) {
  if (dtype == DType::kF32) return LoadAs<float>(from, to, count);
  if (dtype == DType::kF16) return MapRow<uint16_t, float>(from, to, count, HalfToFloat);
  MapRow<uint16_t, float>(from, to, count, Bfloat16ToFloat);
}

void LoadRow(DType, const void* from, double* to, int count) { LoadAs<double>(from, to, count); }

void LoadRow(DType dtype, const void* from, int32_t* to, int count) {
  switch (dtype) {
    case DType::kI8:
      return LoadAs<int8_t>(from, to, count);
    case DType::kU8:
      return LoadAs<uint8_t>(from, to, count);
    case DType::kI16:
      return LoadAs<int16_t>(from, to, count);
    case DType::kU16:
      return LoadAs<uint16_t>(from, to, count);
    case DType::kI32:
      return LoadAs<int32_t>(from, to, count);
    default:
      return MapRow<uint8_t, int32_t>(from, to, count, [](uint8_t x) { return x != 0 ? 1 : 0; });
  }
}

void LoadRow(DType dtype, const void* from, int64_t* to, int count) {
  if (dtype == DType::kU32) return LoadAs<uint32_t>(from, to, count);
  LoadAs<int64_t>(from, to, count);
}

void LoadRow(DType, const void* from, uint64_t* to, int count) {
  LoadAs<uint64_t>(from, to, count);
}

template <typename To, typename Carried>
void StoreAs(const Carried* from, void* to, int count) {
  MapRow<Carried, To>(from, to, count, [](Carried x) {
    if constexpr (std::is_floating_point_v<Carried> && std::is_integral_v<To>) {
      return SaturateToInteger<To>(x);
    } else {
      return static_cast<To>(x);  // integers keep their low bits
    }
  });
}

template <typename Carried>
void StoreRow(DType dtype, const Carried* from, void* to, int count) {
  switch (dtype) {
    case DType::kF32:
      return StoreAs<float>(from, to, count);
    case DType::kF64:
      return StoreAs<double>(from, to, count);
    case DType::kF16:
      return MapRow<Carried, uint16_t>(from, to, count,
                                       [](Carried x) { return FloatToHalf(RoundToOdd(x)); });
    case DType::kBf16:
      return MapRow<Carried, uint16_t>(from, to, count,
                                       [](Carried x) { return FloatToBfloat16(RoundToOdd(x)); });
    case DType::kI8:
      return StoreAs<int8_t>(from, to, count);
    case DType::kU8:
      return StoreAs<uint8_t>(from, to, count);
    case DType::kI16:
      return StoreAs<int16_t>(from, to, count);
    case DType::kU16:
      return StoreAs<uint16_t>(from, to, count);
    case DType::kI32:
      return StoreAs<int32_t>(from, to, count);
    case DType::kU32:
      return StoreAs<uint32_t>(from, to, count);
    case DType::kI64:
      return StoreAs<int64_t>(from, to, count);
    case DType::kU64:
      return StoreAs<uint64_t>(from, to, count);
    case DType::kBool:
      return MapRow<Carried, uint8_t>(
          from, to, count, [](Carried x) { return static_cast<uint8_t>(x != Carried{0} ? 1 : 0); });
  }
}

template <typename Carried>
void CastAll(const TensorView& y, const TensorView& x, const ParallelRunner* parallel) {
  LoopNest<2> nest = ElementRows(y, x);
  const Stager to = {nest.RowStride(0), DTypeBytes(y.dtype)};
  const Stager from = {nest.RowStride(1), DTypeBytes(x.dtype)};
  const Cursor<2> start = {{y.As<char>(), x.As<char>()}};
  ForEachRow(nest, start, parallel, [&](const Cursor<2>& cursor, int count) {
    Stage from_stage;
    Stage to_stage;
    Carried carried[kStageElements];
    for (int done = 0; done < count; done += kStageElements) {
      const int piece = count - done < kStageElements ? count - done : kStageElements;
      LoadRow(x.dtype, from.Read(cursor.at[1], done, piece, from_stage), carried, piece);
      StoreRow(y.dtype, carried, to.Target(cursor.at[0], done, to_stage), piece);
      to.Write(cursor.at[0], done, piece, to_stage);
    }
  });
}

}  // namespace

Status CastRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (x.dtype == y.dtype) {
    CopyView(y, x, call.parallel);
    return OkStatus();
  }
  switch (CarrierOf(x.dtype)) {
    case Carrier::kFloat:
      CastAll<float>(y, x, call.parallel);
      break;
    case Carrier::kDouble:
      CastAll<double>(y, x, call.parallel);
      break;
    case Carrier::kInt32:
      CastAll<int32_t>(y, x, call.parallel);
      break;
    case Carrier::kInt64:
      CastAll<int64_t>(y, x, call.parallel);
      break;
    case Carrier::kUint64:
      CastAll<uint64_t>(y, x, call.parallel);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
