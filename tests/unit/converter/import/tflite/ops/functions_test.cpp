// Functions of floats, element by element.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "converter/import/operator_list.hpp"
#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Floats = std::vector<float>;

const Floats kValues = {-2.5F, -0.75F, 0.0F, 0.25F, 1.5F, 7.0F};

Floats Of(Op op, const Floats& x, BuiltinOptions type = BuiltinOptions::NONE,
          bool approximate = false, float alpha = 0) {
  TfliteBuilder model;
  const auto count = static_cast<int32_t>(x.size());
  const int32_t in = model.Input("x", kF32, {count});
  const int32_t y = model.Output("y", kF32, {count});
  flatbuffers::Offset<void> options = 0;
  if (type == BuiltinOptions::GeluOptions)
    options = format::CreateGeluOptions(model.flat, approximate).Union();
  if (type == BuiltinOptions::LeakyReluOptions)
    options = format::CreateLeakyReluOptions(model.flat, alpha).Union();
  model.Node(op, {in}, {y}, type, options);
  return RunStep(model, {{"x", x}})["y"];
}

void CheckIs(const Floats& got, double (*function)(double), const Floats& x = kValues) {
  REQUIRE(got.size() == x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(double{got[i]} == doctest::Approx(function(double{x[i]})).epsilon(1e-5));
  }
}

TEST_CASE("TFLite lowering: functions of one element") {
  CheckIs(Of(Op::SQUARE, kValues), [](double x) { return x * x; });
  CheckIs(Of(Op::ABS, kValues), [](double x) { return std::fabs(x); });
  CheckIs(Of(Op::NEG, kValues), [](double x) { return -x; });
  CheckIs(Of(Op::SIGN, kValues), [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
  CheckIs(Of(Op::ROUND, kValues), [](double x) { return std::nearbyint(x); });
  CheckIs(Of(Op::RELU6, kValues), [](double x) { return std::fmin(6, std::fmax(0, x)); });
  CheckIs(Of(Op::RELU_N1_TO_1, kValues), [](double x) { return std::fmin(1, std::fmax(-1, x)); });
  CheckIs(Of(Op::RELU_0_TO_1, kValues), [](double x) { return std::fmin(1, std::fmax(0, x)); });
  CheckIs(Of(Op::HARD_SWISH, kValues),
          [](double x) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; });
  const Floats positive = {0.25F, 1.0F, 16.0F};
  CheckIs(
      Of(Op::RSQRT, positive), [](double x) { return 1 / std::sqrt(x); }, positive);
  CheckIs(
      Of(Op::LOG, positive), [](double x) { return std::log(x); }, positive);
}

TEST_CASE("TFLite lowering: GELU by the error function or by tanh, LEAKY_RELU of any slope") {
  CheckIs(Of(Op::GELU, kValues),
          [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); });
  CheckIs(Of(Op::GELU, kValues, BuiltinOptions::GeluOptions, true), [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
  });
  CheckIs(Of(Op::LEAKY_RELU, kValues, BuiltinOptions::LeakyReluOptions, false, -0.5F),
          [](double x) { return x < 0 ? -0.5 * x : x; });
}

TEST_CASE("TFLite lowering: ATAN2 takes the quadrant from the signs, of zeros too") {
  const Floats y = {0.0F, -0.0F, 0.0F, -0.0F, -0.0F, 1.0F, -1.0F, -2.0F};
  const Floats x = {-1.0F, -1.0F, -0.0F, -0.0F, 3.0F, -0.0F, 0.0F, -2.0F};
  TfliteBuilder model;
  const int32_t left = model.Input("y", kF32, {8});
  const int32_t right = model.Input("x", kF32, {8});
  model.Node(Op::ATAN2, {left, right}, {model.Output("angle", kF32, {8})});
  const Floats got = RunStep(model, {{"y", y}, {"x", x}})["angle"];
  REQUIRE(got.size() == x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(double{got[i]} == doctest::Approx(std::atan2(double{y[i]}, double{x[i]})).epsilon(1e-5));
  }
}

TEST_CASE("TFLite lowering: SOFTMAX needs its options, which hold its factor") {
  for (const Op op : {Op::SOFTMAX, Op::LOG_SOFTMAX}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 3});
    model.Node(op, {x}, {model.Output("y", kF32, {2, 3})});
    const bool refused = model.Text().find("its options are missing") != std::string::npos;
    CHECK(refused == (op == Op::SOFTMAX));
  }
}

TEST_CASE(
    "TFLite lowering: SELECT takes whole rows by a vector, SELECT_V2 elements by broadcasting") {
  for (const Op op : {Op::SELECT, Op::SELECT_V2}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 2});
    const int32_t limit = model.Floats("limit", {2}, {1, 1});
    const int32_t flags = model.Floats("flags", {2}, {5, 0});
    const int32_t condition = model.Value("condition", TensorType::BOOL, {2});
    const int32_t other = model.Floats("other", {2, 2}, {10, 20, 30, 40});
    const int32_t y = model.Output("y", kF32, {2, 2});
    model.Node(Op::GREATER, {flags, limit}, {condition});
    model.Node(op, {condition, x, other}, {y});
    const Floats found = RunStep(model, {{"x", {1, 2, 3, 4}}})["y"];
    CHECK(found == (op == Op::SELECT ? Floats{1, 2, 30, 40} : Floats{1, 20, 3, 40}));
  }
}

TEST_CASE("TFLite lowering: FLOOR_DIV of integers rounds down, whatever the signs") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {8});
  const int32_t whole = model.Value("whole", TensorType::INT32, {8});
  const int32_t divisors = model.Ints("divisors", {8}, {2, -2, 2, -2, 3, -3, 1, 5});
  const int32_t q = model.Value("q", TensorType::INT32, {8});
  const int32_t y = model.Output("y", kF32, {8});
  model.Node(Op::CAST, {x}, {whole});
  model.Node(Op::FLOOR_DIV, {whole, divisors}, {q});
  model.Node(Op::CAST, {q}, {y});
  CHECK(RunStep(model, {{"x", {7, 7, -7, -7, -6, -6, -9, 0}}})["y"] ==
        Floats{3, -4, -4, 3, -2, 2, -9, 0});
}

TEST_CASE("TFLite integers: numbers of 16 bits are made real, and real numbers such") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {4});
  const int32_t q = model.Value("q", TensorType::INT16, {4}, {{0.5F}, {0}});
  const int32_t y = model.Output("y", kF32, {4});
  model.Node(Op::QUANTIZE, {x}, {q});
  model.Node(Op::DEQUANTIZE, {q}, {y});
  CHECK(RunStep(model, {{"x", {0.25F, -0.25F, 3.1F, 1e6F}}})["y"] ==
        Floats{0.5F, -0.5F, 3.0F, 16383.5F});
}

TEST_CASE("TFLite lowering: layers without options are refused") {
  for (const Op op : {Op::CONCATENATION, Op::PACK, Op::FULLY_CONNECTED, Op::TRANSPOSE_CONV}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 2});
    const int32_t y = model.Output("y", kF32, {2, 2});
    model.Node(op, {x, x, x}, {y});
    CHECK(model.Text() == std::string("error: node 'y' (") + format::EnumNameBuiltinOperator(op) +
                              "): its options are missing");
  }
}

TEST_CASE("TFLite: a file is one by its mark, whatever its name") {
  const auto path =
      std::filesystem::temp_directory_path() / ("tenon_mark_" + std::to_string(getpid()));
  const auto looks = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const bool answer = LooksLikeTflite(path);
    std::filesystem::remove(path);
    return answer;
  };
  CHECK(looks("0000TFL3"));
  CHECK(!looks("0000TFL2"));
  CHECK(!looks("0000TFL"));
  CHECK(!LooksLikeTflite(path));
}

TEST_CASE("TFLite: the list of operators says how each computes with integers") {
  const std::vector<ImportedOperator> operators = TfliteOperators();
  const auto find = [&](const std::string& name) {
    for (const ImportedOperator& one : operators) {
      if (one.name == name) return one.quantized;
    }
    return std::string("not there");
  };
  CHECK(find("CONV_2D") == "TFLite's, bit for bit");
  CHECK(find("RESHAPE") == "the bits stay");
  CHECK(find("SQUARED_DIFFERENCE") == "dequantized, computed in floats, quantized");
  CHECK(find("TFLite_Detection_PostProcess") != "not there");
}

TEST_CASE("TFLite lowering: BUCKETIZE counts the boundaries that are not above") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {5});
  const int32_t y = model.Output("y", TensorType::INT32, {5});
  const Floats boundaries = {-1, 0, 2};
  model.Node(Op::BUCKETIZE, {x}, {y}, BuiltinOptions::BucketizeOptions,
             format::CreateBucketizeOptionsDirect(model.flat, &boundaries).Union());
  CHECK(RunStep(model, {{"x", {-2, -1, 0.5F, 2, NAN}}})["y"] == Bits({0, 1, 2, 3, 3}));
}

TEST_CASE("TFLite lowering: ATAN2 gives the angle of each quadrant, and 0 at the origin") {
  TfliteBuilder model;
  const int32_t y = model.Input("y", kF32, {9});
  const int32_t x = model.Input("x", kF32, {9});
  model.Node(Op::ATAN2, {y, x}, {model.Output("z", kF32, {9})});
  const Floats ys = {0, 1, 1, 1, 0, -1, -1, -1, 0};
  const Floats xs = {1, 1, 0, -1, -1, -1, 0, 1, 0};
  const Floats z = RunStep(model, {{"x", xs}, {"y", ys}})["z"];
  for (size_t i = 0; i < z.size(); ++i) {
    CHECK(z[i] == doctest::Approx(std::atan2(ys[i], xs[i])).epsilon(1e-6));
  }
}

}  // namespace
}  // namespace tenon::converter::test
