// Computes functions of two elements, and clamps what comes of them.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Has the bits of the portable kernel's functions: a comparison with NaN takes the same side.
template <BinaryFunction kFunction>
[[gnu::always_inline]] static inline Vector<kLanes> Joined(Vector<kLanes> x, Vector<kLanes> y) {
  if constexpr (kFunction == BinaryFunction::kAdd) return x + y;
  if constexpr (kFunction == BinaryFunction::kSub) return x - y;
  if constexpr (kFunction == BinaryFunction::kMul) return x * y;
  if constexpr (kFunction == BinaryFunction::kDiv) return x / y;
  if constexpr (kFunction == BinaryFunction::kMax) return ((x > y) | (x != x)) ? x : y;
  if constexpr (kFunction == BinaryFunction::kMin) return ((x < y) | (x != x)) ? x : y;
  if constexpr (kFunction == BinaryFunction::kPrelu) return x < Vector<kLanes>{} ? x * y : x;
}

/// An operand along one row: its elements, or one element in every lane.
template <bool kRepeats>
struct RowOperand {
  // From the element no zero is added but taken: -0 stays -0.
  explicit RowOperand(const float* row) : from(row), repeated(*row - Vector<kLanes>{}) {}
  template <bool kPartial>
  [[gnu::always_inline]] Vector<kLanes> Get(const Lanes<kLanes, kPartial>& lanes, int i) const {
    if constexpr (kRepeats) return repeated;
    return lanes.Get(from + i);
  }

  const float* from;
  Vector<kLanes> repeated;
};

template <BinaryFunction kFunction, bool kXRepeats, bool kYRepeats>
static void JoinRows(const JoinCall& call) {
  const JoinCall here = call;  // what is stored may be anything, `call` too
  const Bounds<kLanes> bounds(here.low, here.high);
  const Lanes<kLanes, false> whole = {kLanes};
  const int count = here.count;
  const int done = count / kLanes * kLanes;
  const Lanes<kLanes, true> rest = {count - done};
  const float* x_row = here.x;
  const float* y_row = here.y;
  float* z = here.z;
  for (int64_t left = here.rows; left > 0; --left) {
    const RowOperand<kXRepeats> x(x_row);
    const RowOperand<kYRepeats> y(y_row);
    for (int i = 0; i < done; i += kLanes) {
      Store<kLanes>(z + i, bounds.Clamp(Joined<kFunction>(x.Get(whole, i), y.Get(whole, i))));
    }
    if (done < count) {
      rest.Put(z + done, bounds.Clamp(Joined<kFunction>(x.Get(rest, done), y.Get(rest, done))));
    }
    x_row += here.x_step;
    y_row += here.y_step;
    z += here.z_step;
  }
}

template <BinaryFunction kFunction>
static void JoinAll(const JoinCall& call) {
  if (call.x_repeats) return JoinRows<kFunction, true, false>(call);
  if (call.y_repeats) return JoinRows<kFunction, false, true>(call);
  return JoinRows<kFunction, false, false>(call);
}

static void ClampRows(const JoinCall& call) {
  const Bounds<kLanes> bounds(call.low, call.high);
  for (int64_t row = 0; row < call.rows; ++row) {
    const float* x = call.x + row * call.x_step;
    float* z = call.z + row * call.z_step;
    int i = 0;
    for (; i + kLanes <= call.count; i += kLanes) {
      Store<kLanes>(z + i, bounds.Clamp(Load<kLanes>(x + i)));
    }
    const int rest = call.count - i;
    if (rest > 0) StoreFirst<kLanes>(z + i, bounds.Clamp(LoadFirst<kLanes>(x + i, rest)), rest);
  }
}

static void RunJoin(const JoinCall& call) {
  if (call.y == nullptr) return ClampRows(call);
  switch (call.function) {
    case BinaryFunction::kAdd:
      return JoinAll<BinaryFunction::kAdd>(call);
    case BinaryFunction::kSub:
      return JoinAll<BinaryFunction::kSub>(call);
    case BinaryFunction::kMul:
      return JoinAll<BinaryFunction::kMul>(call);
    case BinaryFunction::kDiv:
      return JoinAll<BinaryFunction::kDiv>(call);
    case BinaryFunction::kMax:
      return JoinAll<BinaryFunction::kMax>(call);
    case BinaryFunction::kMin:
      return JoinAll<BinaryFunction::kMin>(call);
    case BinaryFunction::kPrelu:
      return JoinAll<BinaryFunction::kPrelu>(call);
    default:
      return;  // the caller asks for no other
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
