#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/reduce/reduce_plan.hpp"
#include "backends/cpu/kernels/portable/reduce/sum_lanes.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

// How elements are taken into a partial result, and how partial results join. Integers wrap.
template <typename T>
struct Sum {
  static constexpr bool kTakesAnyOrder = false;
  static constexpr T Start() { return 0; }
  static T Join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

template <typename T>
struct Product {
  static constexpr bool kTakesAnyOrder = false;
  static constexpr T Start() { return 1; }
  static T Join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    } else {
      return a * b;
    }
  }
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

template <typename T>
struct Maximum {
  static constexpr bool kTakesAnyOrder = true;
  static constexpr T Start() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  static T Join(T a, T b) { return b > a || b != b ? b : a; }  // NaN wins, and then stays
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

template <typename T>
struct Minimum {
  static constexpr bool kTakesAnyOrder = true;
  static constexpr T Start() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  static T Join(T a, T b) { return b < a || b != b ? b : a; }
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

#if defined(__SSE2__) || defined(__ARM_NEON)
// A loop that is unrolled first does not become vectors.
#define TENON_REDUCE_AS_VECTORS _Pragma("GCC unroll 1")
#else
#define TENON_REDUCE_AS_VECTORS
#endif

/// Reduces `count` neighbours, at least kWidth, by as many partial results. The last window may
/// overlap the one before: an element that is taken twice changes no extreme.
template <int kWidth, typename T, typename Rule>
T TakeWindows(const T* x, int count) {
  T partial[kWidth];
  for (int k = 0; k < kWidth; ++k) partial[k] = x[k];
  int i = kWidth;
  for (; i + kWidth <= count; i += kWidth) {
    TENON_REDUCE_AS_VECTORS
    for (int k = 0; k < kWidth; ++k) partial[k] = Rule::Join(partial[k], x[i + k]);
  }
  if (i < count) {
    TENON_REDUCE_AS_VECTORS
    for (int k = 0; k < kWidth; ++k) partial[k] = Rule::Join(partial[k], x[count - kWidth + k]);
  }
  for (int from = kReduceLanes; from < kWidth; from += kReduceLanes) {
    TENON_REDUCE_AS_VECTORS
    for (int k = 0; k < kReduceLanes; ++k) partial[k] = Rule::Join(partial[k], partial[from + k]);
  }
  T total = partial[0];
  for (int k = 1; k < kReduceLanes; ++k) total = Rule::Join(total, partial[k]);
  return total;
}

/// Reduces `count` neighbours to their extreme.
template <typename T, typename Rule>
T TakeNeighbours(const T* x, int count) {
  constexpr int kWide = 4 * kReduceLanes;
  if (count >= kWide) return TakeWindows<kWide, T, Rule>(x, count);
  if (count >= kReduceLanes) return TakeWindows<kReduceLanes, T, Rule>(x, count);
  T total = Rule::Start();
  for (int i = 0; i < count; ++i) total = Rule::Join(total, x[i]);
  return total;
}

/// Takes one run of each lane into `totals`.
template <typename T, typename Rule>
void TakeRuns(const ReducePlan& plan, const T* x, int lanes, const T* shifts, T* totals) {
  constexpr bool kIsFast = Rule::kTakesAnyOrder && std::is_same_v<T, float>;
  T partial[kReduceLanes];
  for (T& value : partial) value = Rule::Start();
  if (plan.lane_x == 1 && lanes == kReduceLanes) {
    for (int i = 0; i < plan.run_dim; ++i, x += plan.run_x) {
      TENON_REDUCE_AS_VECTORS
      for (int lane = 0; lane < kReduceLanes; ++lane) {
        partial[lane] = Rule::Take(partial[lane], x[lane], shifts[lane]);
      }
    }
  } else if (kIsFast && plan.lane_x == 1 && lanes >= kReduceLanes / 2) {
    // Lanes need not wait for each other, which pays where there are some.
    for (int i = 0; i < plan.run_dim; ++i, x += plan.run_x) {
      for (int lane = 0; lane < lanes; ++lane) {
        partial[lane] = Rule::Take(partial[lane], x[lane], shifts[lane]);
      }
    }
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      const T* run = x + lane * plan.lane_x;
      if constexpr (kIsFast) {
        if (plan.run_x == 1) {
          partial[lane] = TakeNeighbours<T, Rule>(run, plan.run_dim);
          continue;
        }
      }
      T total = Rule::Start();
      for (int i = 0; i < plan.run_dim; ++i) {
        total = Rule::Take(total, run[i * plan.run_x], shifts[lane]);
      }
      partial[lane] = total;
    }
  }
  for (int lane = 0; lane < lanes; ++lane) totals[lane] = Rule::Join(totals[lane], partial[lane]);
}

/// Reduces a block of lanes whose first elements start at `x`.
template <typename T, typename Rule>
void ReduceLanes(const ReducePlan& plan, const T* x, int lanes, const T* shifts, T* totals) {
  for (int lane = 0; lane < kReduceLanes; ++lane) totals[lane] = Rule::Start();
  ForEachRun(plan,
             [&](ptrdiff_t offset) { TakeRuns<T, Rule>(plan, x + offset, lanes, shifts, totals); });
}

[[nodiscard]] bool IsSum(ReduceFunction function) {
  return function != ReduceFunction::kMax && function != ReduceFunction::kMin &&
         function != ReduceFunction::kProd;
}

/// Sums of floats, and what follows from them.
template <typename T>
void ReduceBySums(ReduceFunction function, const ReducePlan& plan, const T* x, int lanes,
                  T* totals) {
  T shifts[kReduceLanes] = {};
  double sums[kReduceLanes];
  switch (function) {
    case ReduceFunction::kL1:
      SumLanes<Magnitude>(plan, x, lanes, shifts, sums);
      break;
    case ReduceFunction::kL2:
    case ReduceFunction::kSumSquare:
      SumLanes<Square>(plan, x, lanes, shifts, sums);
      break;
    case ReduceFunction::kLogSumExp:
      // Less the maximum, so that no exponential overflows; an infinite one shifts nothing.
      ReduceLanes<T, Maximum<T>>(plan, x, lanes, shifts, totals);
      for (int i = 0; i < lanes; ++i) shifts[i] = std::isfinite(totals[i]) ? totals[i] : T{0};
      SumLanes<Exponential>(plan, x, lanes, shifts, sums);
      break;
    default:
      SumLanes<Itself>(plan, x, lanes, shifts, sums);
      break;
  }
  for (int i = 0; i < lanes; ++i) {
    if (function == ReduceFunction::kMean) sums[i] /= static_cast<double>(plan.reduced_count);
    totals[i] = static_cast<T>(sums[i]);
    if (function == ReduceFunction::kL2) totals[i] = std::sqrt(totals[i]);
    if (function == ReduceFunction::kLogSum) totals[i] = std::log(totals[i]);
    if (function == ReduceFunction::kLogSumExp) totals[i] = std::log(totals[i]) + shifts[i];
  }
}

template <typename T>
void ReduceAnyType(ReduceFunction function, const ReducePlan& plan, const T* x, int lanes,
                   T* totals) {
  const T shifts[kReduceLanes] = {};
  if constexpr (std::is_floating_point_v<T>) {
    if (IsSum(function)) return ReduceBySums(function, plan, x, lanes, totals);
  }
  switch (function) {
    case ReduceFunction::kSum:
      return ReduceLanes<T, Sum<T>>(plan, x, lanes, shifts, totals);
    case ReduceFunction::kMean:
      ReduceLanes<T, Sum<T>>(plan, x, lanes, shifts, totals);
      for (int i = 0; i < lanes; ++i) {
        totals[i] = static_cast<T>(totals[i] / static_cast<T>(plan.reduced_count));
      }
      return;
    case ReduceFunction::kMax:
      return ReduceLanes<T, Maximum<T>>(plan, x, lanes, shifts, totals);
    case ReduceFunction::kMin:
      return ReduceLanes<T, Minimum<T>>(plan, x, lanes, shifts, totals);
    case ReduceFunction::kProd:
      return ReduceLanes<T, Product<T>>(plan, x, lanes, shifts, totals);
    default:  // floats' alone
      for (int i = 0; i < lanes; ++i) totals[i] = T{};
      return;
  }
}

/// Bytes reduce to extremes only: their sums would not fit.
template <typename T>
void ReduceByte(ReduceFunction function, const ReducePlan& plan, const T* x, int lanes, T* totals) {
  const T shifts[kReduceLanes] = {};
  if (function == ReduceFunction::kMin) {
    ReduceLanes<T, Minimum<T>>(plan, x, lanes, shifts, totals);
  } else {
    ReduceLanes<T, Maximum<T>>(plan, x, lanes, shifts, totals);
  }
}

#if defined(__SSE2__) || defined(__ARM_NEON)
/// The only axis of several elements that is reduced, or -1.
int LoneAxis(const OpCall& op) {
  const auto mask = static_cast<uint32_t>(op.AttributesAs<ReduceAttributes>().axes_mask);
  const TensorView& x = op.Input(0);
  int lone = -1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if ((mask >> axis & 1U) == 0 || x.dims[axis] == 1) continue;
    if (lone >= 0) return -1;
    lone = axis;
  }
  return lone;
}

/// The loops over outputs, as they lie in memory, and over what each begins with.
LoopNest<2> OutputLoops(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ReduceAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  LoopNest<2> nest;
  int y_axis = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if ((static_cast<uint32_t>(attributes.axes_mask) >> axis & 1U) != 0) {
      y_axis += attributes.keep_dims != 0 ? 1 : 0;
    } else {
      nest.Add(x.dims[axis], ByteStride(y, y_axis++), ByteStride(x, axis));
    }
  }
  nest.Simplify();
  return nest;
}

/// Joins `rows` rows of x, `step` apart, element by element.
template <typename Rule>
void JoinRows(const float* x, ptrdiff_t step, int rows, float* y, int count) {
  const float* next = x + step;
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) y[i] = Rule::Join(x[i], next[i]);
  for (int row = 2; row < rows; ++row) {
    next += step;
    TENON_INDEPENDENT_LOOP
    for (int i = 0; i < count; ++i) y[i] = Rule::Join(y[i], next[i]);
  }
}

/// Extremes, and sums of two, of whole rows: setting up a block of outputs takes longer than such
/// work. A sum of two in f32 is the one in f64, rounded. False where nothing was done.
bool ReduceRows(const KernelCall& call) {
  const ReduceFunction function = call.op.AttributesAs<ReduceAttributes>().function;
  const int axis = LoneAxis(call.op);
  const TensorView& x = call.op.Input(0);
  if (axis < 0 || (function != ReduceFunction::kMax && function != ReduceFunction::kMin &&
                   (function != ReduceFunction::kSum || x.dims[axis] != 2))) {
    return false;
  }
  constexpr auto kFloat = static_cast<ptrdiff_t>(sizeof(float));
  const LoopNest<2> nest = OutputLoops(call.op);
  const bool has_rows = nest.RowLength() >= kReduceLanes && nest.RowStride(0) == kFloat &&
                        nest.RowStride(1) == kFloat;
  if (!has_rows || x.dims[axis] < 2) return false;
  const auto join = function == ReduceFunction::kSum   ? JoinRows<Sum<float>>
                    : function == ReduceFunction::kMax ? JoinRows<Maximum<float>>
                                                       : JoinRows<Minimum<float>>;
  ForEachRow(nest, Cursor<2>{{call.op.Output().As<char>(), x.As<char>()}}, call.parallel,
             [&](const Cursor<2>& cursor, int count) {
               join(reinterpret_cast<const float*>(cursor.at[1]), x.strides[axis], x.dims[axis],
                    reinterpret_cast<float*>(cursor.at[0]), count);
             });
  return true;
}
#else
bool ReduceRows(const KernelCall&) { return false; }
#endif

template <typename T>
void Reduce(const KernelCall& call) {
  const ReduceFunction function = call.op.AttributesAs<ReduceAttributes>().function;
  const ReducePlan plan = PlanReduction(call.op);
  const auto* x = call.op.Input(0).As<const T>();
  auto* y = call.op.Output().As<T>();
  ForEachReduction(plan, call.parallel, [&](const Reduction& block) {
    T totals[kReduceLanes];
    if constexpr (sizeof(T) == 1) {
      ReduceByte(function, plan, x + block.x, block.lanes, totals);
    } else {
      ReduceAnyType(function, plan, x + block.x, block.lanes, totals);
    }
    for (int i = block.first; i < block.lanes; ++i) y[block.y + i * plan.lane_y] = totals[i];
  });
}

}  // namespace

Status ReduceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  switch (call.op.Input(0).dtype) {
    case DType::kF64:
      Reduce<double>(call);
      break;
    case DType::kI32:
      Reduce<int32_t>(call);
      break;
    case DType::kI64:
      Reduce<int64_t>(call);
      break;
    case DType::kI8:
      Reduce<int8_t>(call);
      break;
    case DType::kU8:
      Reduce<uint8_t>(call);
      break;
    default:
      if (!ReduceRows(call)) Reduce<float>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
