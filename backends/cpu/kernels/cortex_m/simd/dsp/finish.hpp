// From sums to bytes, as QuantizedOutput says, for two outputs at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

/// Factors of an op's outputs: one for each, or (step 0) one for all.
struct Rescale {
  QuantizedOutput output;
  const int32_t* bias = nullptr;        ///< null: 0
  const float* scale = nullptr;         ///< kHalfEven
  const int32_t* multiplier = nullptr;  ///< kFixedPoint, kFixedPointOnce
  const int8_t* shift = nullptr;        ///< with `multiplier`
  ptrdiff_t step = 0;
  int64_t most = 0;  ///< no sum of products is further from 0
};

/// Of a quantized convolution or matrix product, each output of which sums `depth` products.
[[nodiscard]] Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output, int64_t depth);

enum class FinishKind : uint8_t {
  kTwice,  ///< kFixedPoint by SMMULR
  kOnce,   ///< kFixedPointOnce by the high word of the product
  kFloat,  ///< kHalfEven
  kExact,  ///< by requantize.hpp, whatever the constants hold
};

/// What one output's sums take.
struct Finish {
  int32_t bias;
  int32_t multiplier;  ///< or the bits of the scale
  int32_t offset;      ///< half of 2^right, and 2^right zero points
  int32_t right;
};

/// Two neighbouring outputs, or the last alone.
struct PairFinish {
  Finish outputs[2];
  FinishKind kind;
  bool is_pair;
  bool is_full;  ///< the bounds are those of i8
  int32_t shift[2];
  const Rescale* rescale;
};

[[nodiscard]] PairFinish FinishOf(const Rescale& rescale, int32_t first, int32_t outputs);

/// Stores a pixel's bytes from its sums, which have the bias in them.
void StorePair(const PairFinish& finish, const uint32_t* sums, uint8_t* y);

}  // namespace tenon::cpu::dsp
