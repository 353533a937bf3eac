// The host part of the op table: facts about ops that only the converter needs. Each op is one
// constant `OpHostRow`, defined in the file of the folder host that is called as the op's device
// file (conv.cpp, pool.cpp, ...).
#pragma once

#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

// --- attributes as text -----------------------------------------------------------------------

enum class FieldKind : uint8_t { kInt, kFloat, kEnum, kDType };

/// One attribute as text and JSON show it. `offset` and `count` are in 4-byte words.
struct AttributeField {
  const char* name;
  FieldKind kind;
  uint16_t offset;
  uint16_t count;
  /// Names of the values 0..enum_count-1, for kEnum only.
  const char* const* enum_names = nullptr;
  int enum_count = 0;
};

/// An op's attributes as text and JSON show them; nothing where the op has none.
struct OpText {
  Span<const AttributeField> fields;
  /// The defaults that text form starts from: the row's `attribute_words` words.
  const void* default_attributes = nullptr;

  [[nodiscard]] const int32_t* DefaultWords() const {
    return static_cast<const int32_t*>(default_attributes);
  }
};

// --- traits -----------------------------------------------------------------------------------

/// What is true of every instance of an op, for whoever asks about more ops than one.
struct OpTraits {
  bool convolution = false;     ///< attributes begin with ConvAttributes; inputs as GemmInput
  bool matrix_product = false;  ///< attributes begin with MatMulAttributes; inputs as GemmInput
  bool pool = false;            ///< attributes begin with PoolAttributes
  bool quantized = false;       ///< computes on quantized tensors, or makes or reads them
  bool moves_elements = false;  ///< every element of the output is one of an input, or a constant
  /// Quantizing may leave the op as it is: the output has the scale and zero point of its input.
  bool keeps_scale = false;
  bool new_axes = false;        ///< the output's axes are not those of the input
  bool operands_alike = false;  ///< goes over its operands side by side: best in one layout
  /// The operand that holds indices, of which one out of range is an error when the op runs; -1:
  /// there is none.
  int checked_indices = -1;
  /// The operand that holds places in input 0, which is an image: rank 4 makes no image of it. -1:
  /// there is none.
  int points = -1;
  /// Where the attributes have an Activation and a QuantizedOutput, in words; -1: nowhere.
  int activation_offset = -1;
  int output_offset = -1;

  [[nodiscard]] constexpr bool IsFloatGemm() const {
    return (convolution || matrix_product) && !quantized;
  }
  [[nodiscard]] constexpr bool IsQuantizedGemm() const {
    return (convolution || matrix_product) && quantized;
  }
};

// --- memory and work --------------------------------------------------------------------------

/// How an op's output may relate to its input's memory without any work being done.
enum class ViewKind : uint8_t {
  kNone,
  kOutputInsideInput,   ///< slice, expand: the output is a window on input 0
  kInputsInsideOutput,  ///< concat: each input can be written straight into its part
  kSameElements,        ///< reshape, transpose, copy: same bytes, other dims or strides
};

struct OpWork {
  int64_t multiply_accumulates = 0;
  int64_t elementary_ops = 0;  ///< everything else (npu-3unit's weights: softmax 8, ...)
  int64_t bytes_read = 0;      ///< inputs and weights, once each
  int64_t bytes_written = 0;
};

// --- splitting --------------------------------------------------------------------------------
// How an op may be cut into ops of the same kind that each make a part of its output: which part
// of each input a part needs, and what becomes of the attributes.

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

struct OpSplit {
  /// Dimensions to try, best first (docs/methods.md, C3): never one that the op reduces over or
  /// permutes in a way that parts could not be joined.
  Span<const SplitDimension> preference;
  /// Axis of the output that is this dimension of the op (a matrix product's channel is its last
  /// axis), or -1.
  int32_t (*axis)(const OpCall& call, SplitDimension dimension) = nullptr;
  /// Fills `inputs` (one per input, absent ones too) and `granularity` (part boundaries must be
  /// multiples of it, or the extent) for a cut along output axis `axis`. False: this op cannot be
  /// cut along it. The op's operands and attributes have passed its shape rule.
  bool (*along)(const OpCall& call, int32_t axis, InputSplit* inputs,
                int32_t* granularity) = nullptr;
  /// Changes `attributes` (a copy of the op's, complete) to those of the op that makes output
  /// indices `out` along `axis` from exactly the ranges that InputRange gives: padding only where
  /// the whole op has it, dims of the part. Null: unchanged.
  void (*part_attributes)(const OpCall& call, int32_t axis, const IndexRange& out,
                          void* attributes) = nullptr;
};

// --- the row ----------------------------------------------------------------------------------

struct OpHostRow {
  OpText text = {};
  OpTraits traits = {};
  ViewKind view = ViewKind::kNone;
  OpWork (*work)(const OpCall& call) = nullptr;
  OpSplit split = {};
};

/// Host row of `kind`; `kind` must be valid.
[[nodiscard]] const OpHostRow& GetOpHostRow(OpKind kind);
[[nodiscard]] inline const OpTraits& TraitsOf(OpKind kind) { return GetOpHostRow(kind).traits; }

}  // namespace tenon
