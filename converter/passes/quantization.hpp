// Reads the quantization of tensors from quantize and dequantize ops, for passes that make
// quantized ops of the float ops between them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

[[nodiscard]] inline bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

/// A quantized tensor stands for (q - zero_point) * scale: one of each, or one for each index of
/// `axis`. Scales are positive and finite.
struct Quantization {
  DType dtype = DType::kI8;
  int32_t axis = 0;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  ///< as many as scales

  [[nodiscard]] bool PerTensor() const { return scales.size() == 1; }
  /// Returns true for i8 or u8 with one scale.
  [[nodiscard]] bool IsPlain() const {
    return PerTensor() && (dtype == DType::kI8 || dtype == DType::kU8);
  }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// Returns the quantization of a quantize or dequantize op; none where its parameters are not
/// constant, or a scale is not positive and finite. Equal parameters for all indices of an axis are
/// returned as one.
[[nodiscard]] std::optional<Quantization> QuantizationOf(const Graph& graph, const Op& op);

/// The source of a real (f32) tensor: the dequantize op that makes it, and what that reads.
struct Source {
  OpId dequantize = kNone;
  TensorId quantized = kNone;
  Quantization as;
};

/// Returns none unless a dequantize op with constant parameters makes the tensor.
[[nodiscard]] std::optional<Source> SourceOf(const Graph& graph, TensorId real);

/// Does the same for i8 or u8 with one scale only.
[[nodiscard]] std::optional<Source> PlainSourceOf(const Graph& graph, TensorId real);

/// Returns the quantization of a quantize op that rounds half to even, to i8 or u8 with one
/// constant scale; else none.
[[nodiscard]] std::optional<Quantization> PlainTargetOf(const Graph& graph, const Op& quantize);

/// Returns the values of an f32 constant, or of a dequantized one, row-major.
[[nodiscard]] std::optional<std::vector<double>> RealValues(const Graph& graph, TensorId real);

/// Does the same for a tensor of one element.
[[nodiscard]] std::optional<double> RealScalar(const Graph& graph, TensorId real);

/// Returns `value` as a quantize op stores it, for a plain quantization.
[[nodiscard]] int32_t QuantizedValue(const Quantization& as, float value);

/// An op that only clamps one real tensor: min(max(x, low), high).
struct Clamp {
  TensorId x = kNone;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// Returns none if the op is no relu, clip, or maximum or minimum with a constant.
[[nodiscard]] std::optional<Clamp> ClampOf(const Graph& graph, const Op& op);

/// Returns an activation's bounds (x: kNone); none if it is not a clamp.
[[nodiscard]] std::optional<Clamp> ClampOf(const Activation& activation);

/// Returns how an op stores its result with quantization `as`, rounded half to even; bounds are
/// those of the dtype.
[[nodiscard]] QuantizedOutput OutputOf(const Quantization& as);

/// Makes `output` clamp its values by `clamp` before its own bounds.
void ApplyClamp(const Quantization& as, const Clamp& clamp, QuantizedOutput& output);

/// Adds new constants.
[[nodiscard]] TensorId AddFloats(Graph& graph, const std::string& name,
                                 const std::vector<float>& values);
[[nodiscard]] TensorId AddIntegers(Graph& graph, const std::string& name, DType dtype,
                                   const std::vector<int32_t>& values);

}  // namespace tenon::converter
