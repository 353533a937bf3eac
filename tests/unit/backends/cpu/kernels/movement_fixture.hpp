// For tests of ops that only move elements: tensors whose elements say where they came from.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

using Dims = std::vector<int32_t>;

/// Calls `body(T{}, dtype)` for one dtype of every element size.
template <typename Body>
void ForEachElementSize(const Body& body) {
  body(uint8_t{}, DType::kU8);
  body(int16_t{}, DType::kI16);
  body(uint32_t{}, DType::kU32);
  body(int64_t{}, DType::kI64);
}

/// What element number `index` of a numbered tensor holds. The prime keeps bytes from repeating in
/// step with dimensions.
template <typename T>
T Numbered(int64_t index) {
  return static_cast<T>(sizeof(T) == 1 ? index % 251 + 1 : index % 32003 + 1);
}

/// Element i in logical row-major order holds Numbered(i).
template <typename T>
Tensor NumberedTensor(DType dtype, const Dims& dims, Layout layout) {
  Tensor tensor(dtype, dims, layout);
  std::vector<T> values(tensor.count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = Numbered<T>(static_cast<int64_t>(i));
  tensor.Set(values);
  return tensor;
}

inline int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (int32_t dim : dims) count *= dim;
  return count;
}

/// Index of row-major element `position`.
inline Dims Unravel(int64_t position, const Dims& dims) {
  Dims index(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = static_cast<int32_t>(position % dims[k]);
    position /= dims[k];
  }
  return index;
}

inline int64_t Ravel(const Dims& index, const Dims& dims) {
  int64_t position = 0;
  for (size_t k = 0; k < dims.size(); ++k) position = position * dims[k] + index[k];
  return position;
}

/// Values of a tensor whose element at row-major `position` is numbered `source(index)`.
template <typename T, typename Source>
std::vector<T> ExpectedFrom(const Dims& dims, const Source& source) {
  std::vector<T> values(static_cast<size_t>(CountOf(dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Numbered<T>(source(Unravel(static_cast<int64_t>(i), dims)));
  }
  return values;
}

/// Dims of a random rank from `low` to `high`.
inline Dims RandomDims(Generator& random, int low, int high, int32_t largest = 5) {
  Dims dims(static_cast<size_t>(Pick(random, low, high)));
  for (int32_t& dim : dims) dim = Pick(random, 1, largest);
  return dims;
}

}  // namespace tenon::cpu::testing
