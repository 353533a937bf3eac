// How an op may be cut into ops of the same kind that each make a part of its output: which part of
// each input a part needs, and what becomes of the attributes. Host only; one row per op.
#pragma once

#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Indices [begin, end) along an axis.
struct IndexRange {
  int32_t begin = 0;
  int32_t end = 0;
  [[nodiscard]] int32_t size() const { return end - begin; }
};

/// What an axis of an op's output means, for the order in which dimensions are tried.
enum class SplitDimension : uint8_t { kBatch, kChannel, kHeight, kWidth, kOther };
[[nodiscard]] const char* Name(SplitDimension dimension);

/// What a part of the output needs of one input.
struct InputSplit {
  /// Axis of the input that is cut along; -1: the whole input is needed.
  int32_t axis = -1;
  /// Output indices [b, e) need input indices
  /// [floor(b * stride / divisor) - before, floor((e - 1) * stride / divisor) - before + extent),
  /// clipped to the input; where that leaves nothing (padding only), the input's first or last
  /// index, so that a part always has an input. Elementwise: 1, 1, 0, 1. A window of k with stride
  /// s, padding p and dilation d: s, 1, p, (k - 1) * d + 1.
  int32_t stride = 1;
  int32_t divisor = 1;
  int32_t before = 0;
  int32_t extent = 1;

  friend constexpr bool operator==(const InputSplit& a, const InputSplit& b) {
    return a.axis == b.axis && a.stride == b.stride && a.divisor == b.divisor &&
           a.before == b.before && a.extent == b.extent;
  }
};

/// The input indices that the output indices `out` need; `input_size` is the input's extent.
[[nodiscard]] IndexRange InputRange(const InputSplit& split, const IndexRange& out,
                                    int32_t input_size);

struct OpSplitRow {
  OpKind kind;
  /// Dimensions to try, best first (methods C3): never one that the op reduces over or permutes in
  /// a way that parts could not be joined.
  Span<const SplitDimension> preference;
  /// Axis of the output that is this dimension of the op (a matrix product's channel is its last
  /// axis), or -1.
  int32_t (*axis)(const OpCall& call, SplitDimension dimension);
  /// Fills `inputs` (one per input, absent ones too) and `granularity` (part boundaries must be
  /// multiples of it, or the extent) for a cut along output axis `axis`. False: this op cannot be
  /// cut along it. The op's operands and attributes have passed its shape rule.
  bool (*split)(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity);
  /// Changes `attributes` (a copy of the op's, complete) to those of the op that makes output
  /// indices `out` along `axis` from exactly the ranges that InputRange gives: padding only where
  /// the whole op has it, dims of the part. Null: unchanged.
  void (*part_attributes)(const OpCall& call, int32_t axis, const IndexRange& out,
                          void* attributes);
};

[[nodiscard]] const OpSplitRow& GetOpSplitRow(OpKind kind);

}  // namespace tenon
