#include "backends/cpu/kernels/f32/epilogue.hpp"

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"

namespace tenon::cpu::f32 {

void Activate(const Routines& routines, const Activation& activation, float* values, int count) {
  if (!HasVectorForm(activation.function)) {
    return portable::ActivateRow(activation, values, count);
  }
  routines.activate({activation.function, activation.a, activation.b, values, values, count});
}

}  // namespace tenon::cpu::f32
