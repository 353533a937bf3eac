// Real factors as TFLite's integer kernels take them: a 31-bit multiplier and a shift.
//
// Source of the representation: Jacob et al., "Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference", section 2.2. The choices that the paper leaves open
// (rounding, what becomes of factors that are too small) are those of TFLite, so that kernels give
// its bits; runtime/ops/requantize.hpp has the arithmetic that uses them.
#pragma once

#include <cstdint>

namespace tenon::converter {

/// The factor multiplier * 2^(shift - 31); multiplier 0 or in [2^30, 2^31), shift >= -31.
struct FixedPoint {
  int32_t multiplier = 0;
  int32_t shift = 0;
};

/// Nearest to `factor`, which is finite and not negative; below 2^-32 it is 0.
[[nodiscard]] FixedPoint QuantizeMultiplier(double factor);

/// The factor divided by `count` >= 1, as TFLite's means do it: in integers, rounded down, keeping
/// as many bits as `count` has.
[[nodiscard]] FixedPoint DividedBy(FixedPoint factor, int64_t count);

/// What the integer softmax takes: the factor from input steps to the fixed point that its
/// exponential works in (5 integer bits), and the least difference to the maximum for which that
/// does not overflow.
struct SoftmaxScaling {
  FixedPoint factor;
  int32_t least_difference = 0;
};

/// For inputs of `scale` times `beta`; both positive.
[[nodiscard]] SoftmaxScaling ScaleSoftmax(double beta, double scale);

}  // namespace tenon::converter
