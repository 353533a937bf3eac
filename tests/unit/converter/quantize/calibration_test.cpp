#include "converter/quantize/calibration.hpp"

#include <cmath>

#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kOne =
    "input %x as \"image\": f32[1,2]\n%y = unary(%x) {function=relu}\noutput %y\n";
constexpr std::string_view kTwo =
    "input %a as \"in/a:0\": f32[2]\ninput %b as \"b\": f32[2]\n"
    "%y = binary(%a, %b) {function=add}\noutput %y\n";

CalibrationArray Floats(const char* name, std::vector<int64_t> shape,
                        const std::vector<float>& values) {
  return {name, DType::kF32, std::move(shape), BytesOf(values)};
}

CalibrationArray Labels(const std::vector<int64_t>& values) {
  CalibrationArray array{"labels", DType::kI64, {static_cast<int64_t>(values.size())}, {}};
  array.bytes.resize(values.size() * sizeof(int64_t));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

std::string ErrorOf(std::string_view graph, std::vector<CalibrationArray> arrays) {
  const auto calibration = MakeCalibration(GraphOf(graph), std::move(arrays));
  return calibration.ok() ? "" : calibration.error().message;
}

TEST_CASE("MakeCalibration: single samples, stacks and batches, in natural order of names") {
  const auto calibration =
      MakeCalibration(GraphOf(kOne), {Floats("s10", {1, 2}, {9, 9}), Floats("s9", {1, 2}, {8, 8}),
                                      Floats("batch", {2, 2}, {1, 2, 3, 4}),
                                      Floats("pile", {2, 1, 2}, {5, 6, 7, 7})});
  REQUIRE(calibration.ok());
  REQUIRE(calibration->samples.size() == 6);
  CHECK(calibration->samples[1].front() == BytesOf({3, 4}));
  CHECK(calibration->samples[2].front() == BytesOf({5, 6}));
  CHECK(calibration->samples[4].front() == BytesOf({8, 8}));
  CHECK(calibration->samples[5].front() == BytesOf({9, 9}));
  CHECK(calibration->labels.empty());
}

TEST_CASE("MakeCalibration: several inputs are told apart by name, and need as many samples") {
  const auto calibration = MakeCalibration(
      GraphOf(kTwo), {Floats("b_1", {2}, {5, 6}), Floats("in_a_0", {2, 2}, {1, 2, 3, 4}),
                      Floats("b_0", {2}, {7, 8})});
  REQUIRE(calibration.ok());
  REQUIRE(calibration->samples.size() == 2);
  CHECK(calibration->samples[1] == Sample{BytesOf({3, 4}), BytesOf({5, 6})});
  CHECK(ErrorOf(kTwo, {Floats("b", {2}, {5, 6}), Floats("in_a_0", {2, 2}, {1, 2, 3, 4})})
            .find("has 1 samples") != std::string::npos);
}

TEST_CASE("MakeCalibration: labels are one for each row") {
  const auto calibration =
      MakeCalibration(GraphOf(kOne), {Floats("x", {2, 2}, {1, 2, 3, 4}), Labels({1, 0})});
  REQUIRE(calibration.ok());
  CHECK(calibration->labels == std::vector<int64_t>{1, 0});
  CHECK(ErrorOf(kOne, {Floats("x", {2, 2}, {1, 2, 3, 4}), Labels({1})}).find("1 labels for 2") !=
        std::string::npos);
}

TEST_CASE("MakeCalibration: labels are columns of the first output") {
  for (const int64_t label : {-1, 2}) {
    CHECK(ErrorOf(kOne, {Floats("x", {2, 2}, {1, 2, 3, 4}), Labels({1, label})}) ==
          "calibration: label " + std::to_string(label) +
              " is none of the first output's classes, 0 to 1");
  }
}

TEST_CASE("MakeCalibration: refusals say what is wanted") {
  CHECK(ErrorOf(kOne, {}).find("no sample for input 'image'") != std::string::npos);
  CHECK(ErrorOf(kOne, {Floats("x", {1, 3}, {1, 2, 3})}).find("f32[1,3]") != std::string::npos);
  CHECK(ErrorOf(kOne, {Floats("x", {1, 2}, {1, NAN})}).find("not finite") != std::string::npos);
  CHECK(ErrorOf(kOne, {{"x", DType::kU8, {1, 2}, std::vector<std::byte>(2)}}).find("u8[1,2]") !=
        std::string::npos);
  CHECK(!ErrorOf(kOne, {Floats("x", {0, 2}, {})}).empty());
  CHECK(ErrorOf(kOne, {Floats("x", {2, 2}, {1, 2})}).find("has 8 bytes") != std::string::npos);
  CHECK(ErrorOf(kOne, {Floats("x", {-1, -2}, {1, 2})}).find("has 8 bytes") != std::string::npos);
}

TEST_CASE("Spread: evenly over all samples") {
  std::vector<Sample> samples;
  for (int i = 0; i < 10; ++i) samples.push_back({BytesOf({static_cast<float>(i)})});
  const std::vector<Sample> some = Spread(samples, 5);
  REQUIRE(some.size() == 5);
  CHECK(some[4] == samples[8]);
  CHECK(Spread(samples, 20).size() == 10);
}

}  // namespace
}  // namespace tenon::converter
