#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr int kLanes = 16;  // outputs that are reduced together

/// The dimensions of one reduction: `kept` ones make outputs, `reduced` ones are summed over, the
/// innermost in x last. `lane` is the kept dimension that kLanes outputs are taken along.
struct Plan {
  int kept = 0;
  int32_t kept_dims[kMaxRank] = {};
  ptrdiff_t kept_x[kMaxRank] = {};
  ptrdiff_t kept_y[kMaxRank] = {};
  int32_t lane_dim = 1;
  ptrdiff_t lane_x = 0;
  ptrdiff_t lane_y = 0;
  int reduced = 0;
  int32_t reduced_dims[kMaxRank] = {};
  ptrdiff_t reduced_x[kMaxRank] = {};
  int32_t run_dim = 1;  ///< the innermost reduced dimension, taken out of the arrays
  ptrdiff_t run_x = 0;
  int64_t reduced_count = 1;
};

void AddReduced(Plan& plan, int32_t dim, ptrdiff_t stride) {
  plan.reduced_count *= dim;
  if (dim == 1) return;
  int place = plan.reduced++;
  for (; place > 0 && plan.reduced_x[place - 1] < stride; --place) {
    plan.reduced_dims[place] = plan.reduced_dims[place - 1];
    plan.reduced_x[place] = plan.reduced_x[place - 1];
  }
  plan.reduced_dims[place] = dim;
  plan.reduced_x[place] = stride;
}

/// Takes the kept dimension that lies closest in x as the lanes.
void TakeLanes(Plan& plan) {
  int best = -1;
  for (int i = 0; i < plan.kept; ++i) {
    if (best < 0 || plan.kept_x[i] < plan.kept_x[best]) best = i;
  }
  if (best < 0) return;
  plan.lane_dim = plan.kept_dims[best];
  plan.lane_x = plan.kept_x[best];
  plan.lane_y = plan.kept_y[best];
  --plan.kept;
  for (int i = best; i < plan.kept; ++i) {
    plan.kept_dims[i] = plan.kept_dims[i + 1];
    plan.kept_x[i] = plan.kept_x[i + 1];
    plan.kept_y[i] = plan.kept_y[i + 1];
  }
}

/// Takes the innermost reduced dimension out, with those that continue it without a gap.
void TakeRun(Plan& plan) {
  if (plan.reduced == 0) return;
  --plan.reduced;
  plan.run_dim = plan.reduced_dims[plan.reduced];
  plan.run_x = plan.reduced_x[plan.reduced];
  while (plan.reduced > 0 && plan.reduced_x[plan.reduced - 1] == plan.run_dim * plan.run_x) {
    --plan.reduced;
    plan.run_dim *= plan.reduced_dims[plan.reduced];
  }
}

Plan Prepare(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  Plan plan;
  int y_axis = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const bool reduced = ((attributes.axes_mask >> axis) & 1) != 0;
    if (reduced) {
      AddReduced(plan, x.dims[axis], x.strides[axis]);
      y_axis += attributes.keep_dims != 0 ? 1 : 0;
      continue;
    }
    if (x.dims[axis] != 1) {
      plan.kept_dims[plan.kept] = x.dims[axis];
      plan.kept_x[plan.kept] = x.strides[axis];
      plan.kept_y[plan.kept++] = y.strides[y_axis];
    }
    ++y_axis;
  }
  TakeLanes(plan);
  TakeRun(plan);
  return plan;
}

// How elements are taken into a partial result, and how partial results join. Integers wrap.
template <typename T>
struct Sum {
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
  static constexpr T Start() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  static T Join(T a, T b) { return b > a || b != b ? b : a; }  // NaN wins, and then stays
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

template <typename T>
struct Minimum {
  static constexpr T Start() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  static T Join(T a, T b) { return b < a || b != b ? b : a; }
  static T Take(T total, T value, T /*shift*/) { return Join(total, value); }
};

template <typename T>
struct SumOfMagnitudes : Sum<T> {
  static T Take(T total, T value, T /*shift*/) { return total + (value < 0 ? -value : value); }
};

template <typename T>
struct SumOfSquares : Sum<T> {
  static T Take(T total, T value, T /*shift*/) { return total + value * value; }
};

template <typename T>
struct SumOfExponentials : Sum<T> {
  static T Take(T total, T value, T shift) { return total + std::exp(value - shift); }
};

/// Takes one run of each lane into `totals`. A run is summed by itself before it joins, which
/// keeps the rounding errors of long sums down.
template <typename T, typename Rule>
void TakeRuns(const Plan& plan, const T* x, int lanes, const T* shifts, T* totals) {
  T partial[kLanes];
  for (T& value : partial) value = Rule::Start();
  if (plan.lane_x == 1 && lanes == kLanes) {
    for (int i = 0; i < plan.run_dim; ++i, x += plan.run_x) {
      for (int lane = 0; lane < kLanes; ++lane) {
        partial[lane] = Rule::Take(partial[lane], x[lane], shifts[lane]);
      }
    }
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      const T* run = x + lane * plan.lane_x;
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
void ReduceLanes(const Plan& plan, const T* x, int lanes, const T* shifts, T* totals) {
  for (int lane = 0; lane < kLanes; ++lane) totals[lane] = Rule::Start();
  if (plan.reduced_count == 0) return;
  int32_t index[kMaxRank] = {};
  for (;;) {
    TakeRuns<T, Rule>(plan, x, lanes, shifts, totals);
    int axis = plan.reduced - 1;
    for (; axis >= 0; --axis) {
      x += plan.reduced_x[axis];
      if (++index[axis] < plan.reduced_dims[axis]) break;
      x -= plan.reduced_dims[axis] * plan.reduced_x[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <typename T>
void ReduceFloatOnly(ReduceFunction function, const Plan& plan, const T* x, int lanes, T* totals) {
  T shifts[kLanes] = {};
  switch (function) {
    case ReduceFunction::kL1:
      return ReduceLanes<T, SumOfMagnitudes<T>>(plan, x, lanes, shifts, totals);
    case ReduceFunction::kL2:
    case ReduceFunction::kSumSquare:
      ReduceLanes<T, SumOfSquares<T>>(plan, x, lanes, shifts, totals);
      if (function == ReduceFunction::kSumSquare) return;
      for (int i = 0; i < lanes; ++i) totals[i] = std::sqrt(totals[i]);
      return;
    case ReduceFunction::kLogSum:
      ReduceLanes<T, Sum<T>>(plan, x, lanes, shifts, totals);
      for (int i = 0; i < lanes; ++i) totals[i] = std::log(totals[i]);
      return;
    default:
      // Less the maximum, so that no exponential overflows; an infinite one shifts nothing.
      ReduceLanes<T, Maximum<T>>(plan, x, lanes, shifts, totals);
      for (int i = 0; i < lanes; ++i) shifts[i] = std::isfinite(totals[i]) ? totals[i] : T{0};
      ReduceLanes<T, SumOfExponentials<T>>(plan, x, lanes, shifts, totals);
      for (int i = 0; i < lanes; ++i) totals[i] = std::log(totals[i]) + shifts[i];
      return;
  }
}

template <typename T>
void ReduceAnyType(ReduceFunction function, const Plan& plan, const T* x, int lanes, T* totals) {
  const T shifts[kLanes] = {};
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
    default:
      if constexpr (std::is_floating_point_v<T>) {
        ReduceFloatOnly(function, plan, x, lanes, totals);
      }
      return;
  }
}

/// Bytes reduce to extremes only: their sums would not fit.
template <typename T>
void ReduceByte(ReduceFunction function, const Plan& plan, const T* x, int lanes, T* totals) {
  const T shifts[kLanes] = {};
  if (function == ReduceFunction::kMin) {
    ReduceLanes<T, Minimum<T>>(plan, x, lanes, shifts, totals);
  } else {
    ReduceLanes<T, Maximum<T>>(plan, x, lanes, shifts, totals);
  }
}

template <typename T>
void Reduce(const KernelCall& call) {
  const ReduceFunction function = call.op.AttributesAs<ReduceAttributes>().function;
  const auto* x = call.op.Input(0).As<const T>();
  auto* y = call.op.Output().As<T>();
  const Plan plan = Prepare(call.op);
  const int lane_blocks = (plan.lane_dim + kLanes - 1) / kLanes;
  int blocks = lane_blocks;
  for (int i = 0; i < plan.kept; ++i) blocks *= plan.kept_dims[i];
  ParallelForWork(call.parallel, blocks, kLanes * plan.reduced_count, [&](int begin, int end) {
    for (int block = begin; block < end; ++block) {
      const int lane = block % lane_blocks * kLanes;
      const int lanes = plan.lane_dim - lane < kLanes ? plan.lane_dim - lane : kLanes;
      ptrdiff_t x_offset = lane * plan.lane_x;
      ptrdiff_t y_offset = lane * plan.lane_y;
      int index = block / lane_blocks;
      for (int i = plan.kept - 1; i >= 0; --i) {
        x_offset += index % plan.kept_dims[i] * plan.kept_x[i];
        y_offset += index % plan.kept_dims[i] * plan.kept_y[i];
        index /= plan.kept_dims[i];
      }
      T totals[kLanes];
      if constexpr (sizeof(T) == 1) {
        ReduceByte(function, plan, x + x_offset, lanes, totals);
      } else {
        ReduceAnyType(function, plan, x + x_offset, lanes, totals);
      }
      for (int i = 0; i < lanes; ++i) y[y_offset + i * plan.lane_y] = totals[i];
    }
  });
}

}  // namespace

Status ReduceCheck(const KernelSetup& setup) { return CheckResult(ReduceSupports(setup.op)); }

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
      Reduce<float>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
