// Weights of bytes beside floats, and of numbers of 4 bits.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

std::string FullyConnected(TfliteBuilder& model, int32_t w, int32_t depth) {
  const int32_t x = model.Input("x", kF32, {1, depth});
  const int32_t y = model.Output("y", kF32, {1, 2});
  model.Node(Op::FULLY_CONNECTED, {x, w}, {y}, BuiltinOptions::FullyConnectedOptions,
             format::CreateFullyConnectedOptions(model.flat).Union());
  return model.Text();
}

// TFLite's kernels of floats times bytes read u8 as i8, and no zero point.
TEST_CASE("TFLite lowering: weights of u8 beside floats are i8 that are called otherwise") {
  TfliteBuilder model;
  const int32_t w =
      model.Bytes("w", TensorType::UINT8, {2, 2}, {1, 254, 128, 4}, {{0.5F}, {120}, 0});
  CHECK(FullyConnected(model, w, 2) ==
        "input %x: f32[1,2]\n"
        "const %w/signed/real: f32[2,2] = [0.5, -1, -64, 2]\n"
        "%y: f32[1,2] = matmul(%x, %w/signed/real) {transpose_b=1}\n"
        "output %y\n");
}

TEST_CASE("TFLite lowering: constants of 4 bits are read, the lower half of a byte first") {
  TfliteBuilder model;
  const int32_t w =
      model.Bytes("w", TensorType::INT4, {2, 3}, {0x21, 0x8F, 0x7E}, {{0.5F, 2.0F}, {0, 0}, 0});
  CHECK(FullyConnected(model, w, 3) ==
        "input %x: f32[1,3]\n"
        "const %w/real: f32[2,3] = [0.5, 1, -0.5, -16, -4, 14]\n"
        "%y: f32[1,2] = matmul(%x, %w/real) {transpose_b=1}\n"
        "output %y\n");
  TfliteBuilder odd;
  const int32_t v =
      odd.Bytes("v", TensorType::INT4, {2, 1}, {0x21, 0x00}, {{0.5F, 2.0F}, {0, 0}, 0});
  CHECK(FullyConnected(odd, v, 1) ==
        "error: node 'y' (FULLY_CONNECTED): tensor 'v': it has 2 bytes of data, its dims want 1");
}

TEST_CASE("TFLite lowering: a constant of one number of 4 bits is as long as one of 8") {
  TfliteBuilder model;
  const int32_t w = model.Bytes("w", TensorType::INT4, {1}, {0x7E}, {{0.5F}, {0}, 0});
  model.Node(Op::DEQUANTIZE, {w}, {model.Output("y", kF32, {1})});
  CHECK(model.Text().find("= [-1]") != std::string::npos);
}

TEST_CASE("TFLite integers: a bias on a scale of its own is refused") {
  const auto text = [](float scale) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", TensorType::INT8, {1, 2}, {{0.5F}, {0}});
    const int32_t w = model.Bytes("w", TensorType::INT8, {1, 2}, {1, 2}, {{0.25F}, {0}});
    const int32_t b = model.Ints("b", {1}, {7}, {{scale}, {0}});
    const int32_t y = model.Output("y", TensorType::INT8, {1, 1}, {{1.0F}, {0}});
    model.Node(Op::FULLY_CONNECTED, {x, w, b}, {y}, BuiltinOptions::FullyConnectedOptions,
               format::CreateFullyConnectedOptions(model.flat).Union());
    return model.Text();
  };
  CHECK(text(0.126F).find("error") == std::string::npos);
  CHECK(text(1.0F) ==
        "error: node 'y' (FULLY_CONNECTED): its bias is on a scale of 1, but its input and weights "
        "on one of 0.125");
}

TEST_CASE("TFLite: inputs of 4 bits are refused") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT4, {4}, {{0.5F}, {0}});
  model.Node(Op::DEQUANTIZE, {x}, {model.Output("y", kF32, {4})});
  CHECK(model.Text() == "error: tensor 'x': type INT4 is not supported");
}

}  // namespace
}  // namespace tenon::converter::test
