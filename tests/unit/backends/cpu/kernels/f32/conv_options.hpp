// Convolutions of the vector kernels beside the portable kernel's, with random layouts and
// operands.
#pragma once

#include <cmath>
#include <cstddef>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {

/// The kernels of first layers, and of 3x3 windows by Winograd's transforms.
inline constexpr const char* kFirst = "cpu.conv.vector_first";
inline constexpr const char* kWinograd = "cpu.conv.vector_winograd";

/// How a convolution of a vector kernel is tested.
struct ConvOptions {
  const char* kernel = "cpu.conv.vector";
  Layout x = Layout::kChannelsLast;
  Layout y = Layout::kChannelsLast;
  Layout w = Layout::kRowMajor;
  bool bias = true;
  Residual residual = Residual::kNone;
  int threads = 1;
  size_t workspace_bytes = 1 << 23;
};

/// Returns by how much its outputs differ from the portable kernel's.
inline double Difference(const ConvCase& c, const ConvOptions& options, Generator& random) {
  PairedOp op(options.kernel, "cpu.conv.portable");
  op.AddInput(Random(c.x, options.x, random));
  // Sums of about 1, so that activations with bounds do not hide the scale that errors go with.
  const float weight = 1.0F / std::sqrt(static_cast<float>(c.w[1] * c.w[2] * c.w[3]));
  op.AddInput(Random(c.w, options.w, random, -weight, weight), kConstant);
  AddBiasAndOutput(c, options.bias, options.residual, options.y, random, op);
  op.set_workspace_bytes(options.workspace_bytes);
  return op.Difference(c.attributes, options.threads);
}

inline ConvOptions RandomOptions(const char* kernel, Generator& random) {
  ConvOptions options;
  options.kernel = kernel;
  constexpr Layout kLayouts[] = {Layout::kChannelsLast, Layout::kChannelsLastGaps};
  options.x = kLayouts[Pick(random, 0, 1)];
  options.y = kLayouts[Pick(random, 0, 1)];
  options.w = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kOutputsLast;
  options.bias = Pick(random, 0, 3) != 0;
  options.residual = static_cast<Residual>(Pick(random, 0, 2));
  options.threads = Pick(random, 1, 3);
  return options;
}

inline void SetRandomActivation(ConvAttributes& attributes, Generator& random) {
  constexpr Activation kActivations[] = {
      {UnaryFunction::kIdentity, 0.0F, 0.0F},  {UnaryFunction::kRelu, 0.0F, 0.0F},
      {UnaryFunction::kClip, -0.5F, 2.0F},     {UnaryFunction::kHardSwish, 0.0F, 0.0F},
      {UnaryFunction::kLeakyRelu, 0.1F, 0.0F}, {UnaryFunction::kHardSigmoid, 0.2F, 0.5F},
      {UnaryFunction::kSigmoid, 0.0F, 0.0F},   {UnaryFunction::kSilu, 0.0F, 0.0F},
      {UnaryFunction::kTanh, 0.0F, 0.0F}};
  attributes.activation = kActivations[Pick(random, 0, 8)];
}

inline void CheckAgreement(const ConvCase& c, const ConvOptions& options, double tolerance,
                           Generator& random) {
  INFO(TextOf(c.x, c.w));
  CAPTURE(options.threads);
  CHECK(Difference(c, options, random) < tolerance);
}

}  // namespace tenon::cpu::testing
