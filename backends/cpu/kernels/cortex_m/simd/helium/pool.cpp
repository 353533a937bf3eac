#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kHalf = 8;         // channels of a register of 16-bit sums
constexpr int kMostAdded = 255;  // bytes whose sum fits 16 bits

/// Adds 16-bit sums to those of 32 bits.
void Spill(int16x8_t sums, int32_t* totals) {
  int16_t lanes[kHalf];
  vst1q_s16(lanes, sums);
  for (int i = 0; i < kHalf; i += 4) {
    vst1q_s32(totals + i, vaddq_s32(vld1q_s32(totals + i), vldrhq_s32(lanes + i)));
  }
}

void AddHalf(const Window& window, int first, int32_t* totals) {
  const mve_pred16_t lanes = vctp16q(static_cast<uint32_t>(window.channels - first));
  const int8_t* row = window.x + first;
  int16x8_t sums = vdupq_n_s16(0);
  int left = kMostAdded;
  for (int i = window.rows; i > 0; --i, row += window.row_step) {
    const int8_t* x = row;
    for (int j = window.columns; j > 0;) {
      const int now = j < left ? j : left;
      for (int k = now; k > 0; --k, x += window.column_step) {
        sums = vaddq_s16(sums, vldrbq_z_s16(x, lanes));
      }
      j -= now;
      left -= now;
      if (left > 0) continue;
      Spill(sums, totals);
      sums = vdupq_n_s16(0);
      left = kMostAdded;
    }
  }
  Spill(sums, totals);
}

void Add(const Window& window, int32_t* sums) {
  AddHalf(window, 0, sums);
  if (window.channels > kHalf) AddHalf(window, kHalf, sums + kHalf);
}

void Largest(const Window& window, int8_t* y) {
  const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(window.channels));
  const int8_t* row = window.x;
  int8x16_t largest = vdupq_n_s8(INT8_MIN);
  for (int i = window.rows; i > 0; --i, row += window.row_step) {
    const int8_t* x = row;
    for (int j = window.columns; j > 0; --j, x += window.column_step) {
      largest = vmaxq_s8(largest, vldrbq_z_s8(x, lanes));
    }
  }
  vstrbq_p_s8(y, largest, lanes);
}

void Add16(const Window& window, int16_t start, const int16_t* before, int16_t* sums) {
  for (int first = 0; first < window.channels; first += kHalf) {
    const mve_pred16_t lanes = vctp16q(static_cast<uint32_t>(window.channels - first));
    int16x8_t total = vdupq_n_s16(start);
    if (before != nullptr) total = vaddq_s16(total, vldrhq_z_s16(before + first, lanes));
    const int8_t* row = window.x + first;
    for (int i = window.rows; i > 0; --i, row += window.row_step) {
      const int8_t* x = row;
      for (int j = window.columns; j > 0; --j, x += window.column_step) {
        total = vaddq_s16(total, vldrbq_z_s16(x, lanes));
      }
    }
    vstrhq_p_s16(sums + first, total, lanes);
  }
}

constexpr PoolRoutines kPool = {Add, Largest, Add16};

}  // namespace

const PoolRoutines& Pool() { return kPool; }

}  // namespace tenon::cpu::cortex_m::helium
