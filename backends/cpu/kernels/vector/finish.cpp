#include "backends/cpu/kernels/vector/finish.hpp"

#include "backends/cpu/kernels/portable/activation.hpp"

namespace tenon::cpu::vector {

void Activate(const Activation& activation, float* values, int count) {
  portable::ApplyInPlace(activation, values, count);
}

}  // namespace tenon::cpu::vector
