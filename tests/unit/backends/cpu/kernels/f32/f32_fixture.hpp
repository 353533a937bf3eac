// What the tests of the vector kernels share.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {

/// Runs `body` once for every instruction set that this processor has.
template <typename Body>
void ForEachInstructionSet(const Body& body) {
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    f32::OverrideRoutines(routines);
    CAPTURE(routines->name);
    body();
  }
  f32::OverrideRoutines(nullptr);
}

/// Runs a kernel of one input.
template <typename Attributes>
std::vector<float> RunUnary(const char* kernel, const Tensor& x, const std::vector<int32_t>& y_dims,
                            Layout y_layout, const Attributes& attributes, int threads) {
  OpFixture op(FindKernel(kernel));
  op.AddInput(x);
  const Tensor y = op.AddOutput(Tensor(DType::kF32, y_dims, y_layout));
  REQUIRE(op.Run(attributes, threads).ok());
  return y.Values<float>();
}

}  // namespace tenon::cpu::testing
