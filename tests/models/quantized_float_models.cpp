#include "tests/models/quantized_float_models.hpp"

#include <cmath>
#include <cstring>

namespace tenon::test {
namespace {

std::vector<float> FloatsOf(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> Times(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return BytesOf(values);
}

/// Rows and columns (the last two dimensions) moved in a circle; a single row by columns only.
std::vector<std::byte> Moved(const std::vector<float>& values, size_t rows, size_t columns,
                             size_t down, size_t right) {
  std::vector<float> moved(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t plane = i / (rows * columns) * (rows * columns);
    const size_t row = (i / columns % rows + down) % rows;
    const size_t column = (i % columns + right) % columns;
    moved[plane + row * columns + column] = values[i];
  }
  return BytesOf(moved);
}

std::vector<std::byte> Mirrored(const std::vector<float>& values, size_t columns) {
  std::vector<float> mirrored(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    mirrored[i / columns * columns + (columns - 1 - i % columns)] = values[i];
  }
  return BytesOf(mirrored);
}

}  // namespace

Arrays Variations(const std::vector<std::byte>& real, const std::vector<int64_t>& shape) {
  const std::vector<float> values = FloatsOf(real);
  const auto columns = static_cast<size_t>(shape.back());
  const bool is_image = shape.size() == 4;
  const size_t rows = is_image ? static_cast<size_t>(shape[2]) : 1;
  Arrays all = {real, Times(values, 0.8F), Times(values, 1.1F)};
  all.push_back(Moved(values, rows, columns, is_image ? 3 : 0, 5));
  if (!is_image) return all;
  all.push_back(Moved(values, rows, columns, rows - 4, 2));
  all.push_back(Mirrored(values, columns));
  return all;
}

double DecibelOf(const std::vector<std::byte>& wanted, const std::vector<std::byte>& got) {
  const std::vector<float> a = FloatsOf(wanted);
  const std::vector<float> b = FloatsOf(got);
  if (a.size() != b.size()) return -INFINITY;
  double signal = 0;
  double noise = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    signal += double{a[i]} * double{a[i]};
    noise += (double{b[i]} - double{a[i]}) * (double{b[i]} - double{a[i]});
  }
  return noise == 0 ? 200 : 10 * std::log10(signal / noise);
}

}  // namespace tenon::test
