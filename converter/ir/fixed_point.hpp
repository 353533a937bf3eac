// Represents real factors as TFLite's integer kernels take them: a 31-bit multiplier and a shift.
//
// Source of the representation: Jacob et al., "Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference", section 2.2. Where the paper leaves a choice
// (rounding, factors that are too small), the code does what TFLite does, so that kernels give the
// same bits; runtime/ops/requantize.hpp contains the arithmetic that uses them.
#pragma once

#include <cstdint>

namespace tenon::converter {

/// Represents multiplier * 2^(shift - 31); multiplier 0 or +-[2^30, 2^31), shift >= -31.
struct FixedPoint {
  int32_t multiplier = 0;
  int32_t shift = 0;
};

/// Returns the value nearest to `factor`; below 2^-32 it is 0, and so it is for NaN. The shift of
/// what is infinite is larger than that of any number.
[[nodiscard]] FixedPoint QuantizeMultiplier(double factor);

/// Returns the factor divided by `count` >= 1, as TFLite's means do it: in integers, rounded down,
/// with as many extra bits as `count` has.
[[nodiscard]] FixedPoint DividedBy(FixedPoint factor, int64_t count);

/// Contains the parameters of the integer softmax: the factor from input steps to the fixed point
/// in which its exponential is computed (5 integer bits), and the least difference to the maximum
/// for which that does not overflow.
struct SoftmaxScaling {
  FixedPoint factor;
  int32_t least_difference = 0;
};

/// Returns the parameters for inputs of `scale` times `beta`; both are positive.
[[nodiscard]] SoftmaxScaling ScaleSoftmax(double beta, double scale);

}  // namespace tenon::converter
