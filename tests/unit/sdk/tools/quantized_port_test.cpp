#include "sdk/tools/quantized_port.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

namespace tenon::tool {
namespace {

tenon_port_info Port(tenon_dtype dtype, float scale, int32_t zero_point) {
  tenon_port_info port = {};
  port.dtype = dtype;
  port.scale = scale;
  port.zero_point = zero_point;
  return port;
}

NpyArray Floats(const std::vector<float>& values) {
  NpyArray array{TENON_F32, {static_cast<int64_t>(values.size())}, {}};
  array.bytes.resize(values.size() * sizeof(float));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

std::vector<double> ValuesOf(const NpyArray& array) {
  const Elements elements(array);
  std::vector<double> values;
  for (size_t i = 0; i < elements.size(); ++i) values.push_back(elements[i]);
  return values;
}

TEST_CASE("Quantized port: a port without a scale keeps its values and is described by nothing") {
  const tenon_port_info port = Port(TENON_I8, 0.0F, 0);
  CHECK_FALSE(IsQuantized(port));
  CHECK(DescribeQuantization(port).empty());
  CHECK(RealValue(port, -3.0) == -3.0);
}

TEST_CASE("Quantized port: integers stand for their distance to the zero point, times the scale") {
  const tenon_port_info port = Port(TENON_U8, 0.5F, 128);
  CHECK(DescribeQuantization(port) == " (scale 0.5, zero point 128)");
  CHECK(RealValue(port, 0.0) == -64.0);
  CHECK(RealValue(port, 128.0) == 0.0);
  CHECK(RealValue(port, 255.0) == 63.5);
}

TEST_CASE("Quantized port: floats become the nearest integers, halves to even, saturated") {
  const NpyArray array =
      QuantizeFor(Port(TENON_I8, 0.5F, 1), Floats({0.0F, 0.25F, 0.75F, -1e9F, 1e9F, NAN}));
  CHECK(array.dtype == TENON_I8);
  CHECK(array.shape == std::vector<int64_t>{6});
  CHECK(ValuesOf(array) == std::vector<double>{1.0, 1.0, 3.0, -128.0, 127.0, 1.0});
  const NpyArray bytes = QuantizeFor(Port(TENON_U8, 1.0F, 10), Floats({-20.0F, 5.0F, 300.0F}));
  CHECK(ValuesOf(bytes) == std::vector<double>{0.0, 15.0, 255.0});
}

}  // namespace
}  // namespace tenon::tool
