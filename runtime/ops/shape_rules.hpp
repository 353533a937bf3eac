// What the shape rules of several ops share. Attributes may hold any bits, so everything here
// computes in 64 bits and checks before it divides or indexes.
#pragma once

#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// The float types that ops compute in. bf16 is for storage: it can be moved and cast.
[[nodiscard]] constexpr bool IsComputeFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kF64;
}

[[nodiscard]] constexpr bool IsSignedInteger(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 ||
         dtype == DType::kI64;
}

[[nodiscard]] constexpr bool IsInteger(DType dtype) {
  return !IsFloat(dtype) && dtype != DType::kBool;
}

[[nodiscard]] constexpr bool IsFlag(int32_t value) { return value == 0 || value == 1; }

/// True if `value`, read from a plan, is one of the enum's `count` values.
template <typename Enum>
[[nodiscard]] constexpr bool IsValidEnum(Enum value, int count) {
  const auto number = static_cast<int32_t>(value);
  return number >= 0 && number < count;
}

/// Stores the type of an op's only output. Refuses shapes that no tensor may have.
Status SetOutput(DType dtype, const Shape& shape, OutputType* outputs);

/// Checks that every operand present has the dtype of input 0, and that this is f32, f16 or f64.
Status CheckFloatOperands(const OpCall& call);

/// Checks that `function` exists, takes `dtype`, and has usable parameters: never NaN, and finite
/// but for the bounds of a clip.
Status CheckFunction(UnaryFunction function, float a, float b, DType dtype);
Status CheckActivation(const Activation& activation, DType dtype);

/// Broadcasts two shapes against each other (NumPy rules); false if they do not fit. The result
/// may hold too many elements: SetOutput refuses those.
[[nodiscard]] bool Broadcast(const Shape& a, const Shape& b, Shape* result);

/// True if `from` broadcasts to exactly `to`.
[[nodiscard]] bool BroadcastsTo(const Shape& from, const Shape& to);

/// No padded extent, window extent, stride or dilation of a windowed op passes this, so that sums
/// of two of them fit into 32 bits.
inline constexpr int64_t kMaxWindowExtent = int64_t{1} << 28;

/// One spatial dimension of a windowed op (convolution, pooling), in elements.
struct WindowAxis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad_begin;
  int64_t pad_end;

  [[nodiscard]] int64_t PaddedInput() const { return input + pad_begin + pad_end; }
  /// Elements from the first tap of the window to its last, both counted.
  [[nodiscard]] int64_t EffectiveKernel() const { return (kernel - 1) * dilation + 1; }
};

/// Checks extents, and that the window fits into the padded input at least once.
Status CheckWindow(const WindowAxis& axis);

/// Number of windows that lie wholly inside the padded input; needs CheckWindow.
[[nodiscard]] int64_t WindowCount(const WindowAxis& axis);

}  // namespace tenon
