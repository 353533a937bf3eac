#include "backends/cpu/kernels/f32/epilogue.hpp"

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"

namespace tenon::cpu::f32 {

void Activate(const Routines& routines, const Activation& activation, float* values, int64_t step,
              int rows, int count) {
  if (HasVectorForm(activation.function)) {
    return routines.activate(
        {activation.function, activation.a, activation.b, values, step, values, step, rows, count});
  }
  for (int row = 0; row < rows; ++row) {
    portable::ActivateRow(activation, values + row * step, count);
  }
}

}  // namespace tenon::cpu::f32
