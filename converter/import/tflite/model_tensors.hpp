// Types, quantization and constants of a TFLite model as ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Tensor;
struct Model;
enum class TensorType : int8_t;
}  // namespace format

/// What the integers of a tensor stand for: (q - zero_point) * scale, one pair, or one for each
/// index of `axis`. No scales: not quantized.
struct Quantization {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  ///< as many as scales
  int32_t axis = 0;

  [[nodiscard]] bool IsNone() const { return scales.empty(); }
  [[nodiscard]] bool IsPerTensor() const { return scales.size() == 1; }
  /// Of tensors quantized as a whole.
  [[nodiscard]] float scale() const { return scales.front(); }
  [[nodiscard]] int32_t zero_point() const { return zero_points.front(); }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// Errors: types that Tenon has not.
[[nodiscard]] Result<DType> DTypeFromTflite(format::TensorType type);

/// Quantization of a tensor whose dims are `shape`. Errors: as many zero points as scales are
/// wanted, scales finite and positive, zero points inside the type.
[[nodiscard]] Result<Quantization> ReadQuantization(const format::Tensor& tensor, DType dtype,
                                                    const Shape& shape);

/// Dims that the file gives the tensor.
[[nodiscard]] Result<Shape> ReadShape(const format::Tensor& tensor);

/// True if the file holds the tensor's value.
[[nodiscard]] bool HasData(const format::Model& model, const format::Tensor& tensor);

/// True of a constant of numbers of 4 bits, which are read as i8.
[[nodiscard]] bool IsPackedConstant(const format::Model& model, const format::Tensor& tensor);

/// True if the tensor has no elements: its value needs no data.
[[nodiscard]] bool HasNoElements(const format::Tensor& tensor);

/// Bytes that ReadData gives; `wanted` are those of the dims and type. A few bytes of the file can
/// stand for any number: sparse constants, and buffers that many tensors have in common.
[[nodiscard]] int64_t BytesToRead(const format::Model& model, const format::Tensor& tensor,
                                  int64_t wanted);

/// The value of a constant, row-major; of a sparse one with its zeros, which may be far more than
/// the file holds. Errors: its size does not fit its dims and type.
[[nodiscard]] Result<std::vector<std::byte>> ReadData(const format::Model& model,
                                                      const format::Tensor& tensor, DType dtype,
                                                      const Shape& shape);

/// Name of a tensor, printable; "tensor" and its number where it has none.
[[nodiscard]] std::string FullNameOf(const format::Tensor& tensor, int32_t index);

/// The same up to the first semicolon: where operators were fused, the names of all of them follow.
[[nodiscard]] std::string NameOf(const format::Tensor& tensor, int32_t index);

/// With '_' for every byte that belongs to no printable character of UTF-8.
[[nodiscard]] std::string PrintableName(std::string name);

}  // namespace tenon::converter::tflite
