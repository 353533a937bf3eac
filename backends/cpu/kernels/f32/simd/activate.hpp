// Applies activations that are no clamp to floats that were just stored.
#pragma once

#include "backends/cpu/kernels/f32/simd/functions.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Serves what is left of rows behind their whole vectors, of many rows at a time.
template <UnaryFunction kFunction>
static void ActivateShortRests(const ActivateCall& call, int done, int rest) {
  constexpr int kGathered = 8 * kLanes;
  float values[kGathered] = {};
  const int at_once = kGathered / rest;
  for (int first = 0; first < call.rows; first += at_once) {
    const int rows = call.rows - first < at_once ? call.rows - first : at_once;
    const float* x = call.x + first * call.x_step + done;
    for (int row = 0; row < rows; ++row, x += call.x_step) {
      for (int i = 0; i < rest; ++i) values[row * rest + i] = x[i];
    }
    for (int i = 0; i < rows * rest; i += kLanes) {
      Store<kLanes>(values + i, Activated<kFunction>(Load<kLanes>(values + i), call.a, call.b));
    }
    float* y = call.y + first * call.y_step + done;
    for (int row = 0; row < rows; ++row, y += call.y_step) {
      for (int i = 0; i < rest; ++i) y[i] = values[row * rest + i];
    }
  }
}

/// Serves what is left of each row by a part of a vector, which is as fast where two of them do not
/// fit into one.
template <UnaryFunction kFunction>
static void ActivateLongRests(const ActivateCall& call, int done, int rest) {
  const Lanes<kLanes, true> lanes = {rest};
  const float* x = call.x + done;
  float* y = call.y + done;
  for (int row = 0; row < call.rows; ++row, x += call.x_step, y += call.y_step) {
    lanes.Put(y, Activated<kFunction>(lanes.Get(x), call.a, call.b));
  }
}

/// Whole vectors of all rows are one loop: a loop for each row would load its constants again for
/// the two vectors that a tile's rows have.
template <UnaryFunction kFunction>
static void ActivateAll(const ActivateCall& call) {
  const int64_t elements = int64_t{call.rows} * call.count;
  const bool is_dense = call.x_step == call.count && call.y_step == call.count;
  if (call.rows > 1 && is_dense && elements <= INT32_MAX) {
    ActivateCall row = call;
    row.rows = 1;
    row.count = static_cast<int>(elements);
    return ActivateAll<kFunction>(row);
  }
  const int vectors = call.count / kLanes;
  const int done = vectors * kLanes;
  const float* x = call.x;
  float* y = call.y;
  int in_row = 0;
  for (int64_t left = int64_t{vectors} * call.rows; left > 0; --left) {
    Store<kLanes>(y, Activated<kFunction>(Load<kLanes>(x), call.a, call.b));
    x += kLanes;
    y += kLanes;
    if (++in_row < vectors) continue;
    in_row = 0;
    x += call.x_step - done;
    y += call.y_step - done;
  }
  const int rest = call.count - done;
  if (rest == 0) return;
  if (call.rows == 1 || 2 * rest > kLanes) return ActivateLongRests<kFunction>(call, done, rest);
  ActivateShortRests<kFunction>(call, done, rest);
}

static void RunActivate(const ActivateCall& call) {
  switch (call.function) {
#define TENON_VECTOR_FUNCTION(Kind) \
  case UnaryFunction::k##Kind:      \
    return ActivateAll<UnaryFunction::k##Kind>(call);
#include "backends/cpu/caps/vector_functions.inc"
    default:
      return;  // the caller asks for no other
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
