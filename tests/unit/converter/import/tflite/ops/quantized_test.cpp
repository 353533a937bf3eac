// What operators on quantized tensors become, as text.
#include <doctest/doctest.h>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

TEST_CASE("TFLite integers: a convolution has a multiplier and a shift for each channel") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {1, 2, 2, 1}, {{0.5F}, {3}});
  const int32_t w = model.Bytes("w", kI8, {2, 1, 1, 1}, {5, -7}, {{0.5F, 0.25F}, {0, 0}});
  const int32_t b = model.Ints("b", {2}, {10, -20}, {{0.25F, 0.125F}, {0, 0}});
  const int32_t y = model.Output("y", kI8, {1, 2, 2, 2}, {{1.0F}, {-128}});
  model.Node(Op::CONV_2D, {x, w, b}, {y}, BuiltinOptions::Conv2DOptions,
             format::CreateConv2DOptions(model.flat, format::Padding::VALID, 1, 1,
                                         format::ActivationFunctionType::RELU6)
                 .Union());
  CHECK(model.Text() ==
        "input %x: i8[1,2,2,1]\n"
        "const %w/channels_first: i8[2,1,1,1] = [5, -7]\n"
        "const %b: i32[2] = [10, -20]\n"
        "const %y/multiplier: i32[2] = [1073741824, 1073741824]\n"
        "const %y/shift: i8[2] = [-1, -2]\n"
        "const %y/input_zero_point: i8[1] = [3]\n"
        "%x/channels_first: i8[1,1,2,2] = transpose(%x) {permutation=[0,3,1,2]}\n"
        "%y: i8[1,2,2,2] = quantized_conv(%x/channels_first, %w/channels_first, %b, %y/multiplier, "
        "%y/shift, %y/input_zero_point) {rounding=fixed_point, zero_point=-128, max=-122}\n"
        "%y/channels_last: i8[1,2,2,2] = transpose(%y) {permutation=[0,2,3,1]}\n"
        "output %y/channels_last as \"y\"\n");
}

TEST_CASE("TFLite integers: weights of u8 become i8 around 0 where they fit") {
  const auto text = [](const std::vector<int32_t>& weights) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kU8, {1, 2}, {{0.5F}, {128}});
    const int32_t w = model.Bytes("w", kU8, {1, 2}, weights, {{0.5F}, {100}});
    const int32_t y = model.Output("y", kU8, {1, 1}, {{1.0F}, {0}});
    model.Node(Op::FULLY_CONNECTED, {x, w}, {y}, BuiltinOptions::FullyConnectedOptions,
               format::CreateFullyConnectedOptions(model.flat).Union());
    return model.Text();
  };
  CHECK(text({0, 227}) ==
        "input %x: u8[1,2]\n"
        "const %y/weights: i8[1,2] = [-100, 127]\n"
        "const %y/multiplier: i32[1] = [1073741824]\n"
        "const %y/shift: i8[1] = [-1]\n"
        "const %y/input_zero_point: u8[1] = [128]\n"
        "%y: u8[1,1] = quantized_matmul(%x, %y/weights, _, %y/multiplier, %y/shift, "
        "%y/input_zero_point) {transpose_b=1, to=u8, rounding=fixed_point_once, min=0, max=255}\n"
        "output %y\n");
  CHECK(text({0, 228}) ==
        "input %x: u8[1,2]\n"
        "const %w: u8[1,2] = [0, 228]\n"
        "const %y/weights_zero_point: u8[1] = [100]\n"
        "const %y/multiplier: i32[1] = [1073741824]\n"
        "const %y/shift: i8[1] = [-1]\n"
        "const %y/input_zero_point: u8[1] = [128]\n"
        "%y: u8[1,1] = quantized_matmul(%x, %w, _, %y/multiplier, %y/shift, %y/input_zero_point, "
        "%y/weights_zero_point) {transpose_b=1, to=u8, rounding=fixed_point_once, min=0, max=255}\n"
        "output %y\n");
}

TEST_CASE("TFLite integers: sums widen by 20 bits and bounds hold a fused relu") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {4}, {{0.5F}, {3}});
  const int32_t z = model.Input("z", kI8, {4}, {{0.25F}, {-1}});
  const int32_t y = model.Output("y", kI8, {4}, {{1.0F}, {-10}});
  model.Node(Op::ADD, {x, z}, {y}, BuiltinOptions::AddOptions,
             format::CreateAddOptions(model.flat, format::ActivationFunctionType::RELU).Union());
  CHECK(
      model.Text() ==
      "input %x: i8[4]\n"
      "input %z: i8[4]\n"
      "%y: i8[4] = quantized_binary(%x, %z) {x_zero_point=3, y_zero_point=-1, "
      "x_multiplier=1073741824, y_multiplier=1073741824, y_shift=-1, output_multiplier=1073741824, "
      "output_shift=-19, left_shift=20, rounding=fixed_point, zero_point=-10, min=-10}\n"
      "output %y\n");
}

TEST_CASE("TFLite integers: a function of one tensor is a table") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {4}, {{0.5F}, {0}});
  const int32_t y = model.Output("y", kI8, {4}, {{0.5F}, {1}});
  model.Node(Op::RELU, {x}, {y});
  const auto graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  const converter::Op op = graph->op(graph->OpOrder()[0]);
  CHECK(op.kind == OpKind::kLookup);
  const std::vector<double> table = ReadElements(graph->tensor(op.inputs[1]));
  REQUIRE(table.size() == 256);
  CHECK(table[0] == 1);      // -128 stands for -64, 0 is stored as 1
  CHECK(table[128] == 1);    // 0
  CHECK(table[129] == 2);    // 0.5
  CHECK(table[255] == 127);  // 63.5, saturated
}

TEST_CASE("TFLite integers: an operator without integer arithmetic computes in floats") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kI8, {4}, {{0.5F}, {3}});
  const int32_t z = model.Input("z", kI8, {4}, {{0.25F}, {-1}});
  const int32_t y = model.Output("y", kI8, {4}, {{1.0F}, {-10}});
  model.Node(Op::SQUARED_DIFFERENCE, {x, z}, {y});
  CHECK(model.Text() ==
        "input %x: i8[4]\n"
        "input %z: i8[4]\n"
        "const %y/scale_2: f32[1] = [0.5]\n"
        "const %y/zero_point_2: i8[1] = [3]\n"
        "const %y/scale_3: f32[1] = [0.25]\n"
        "const %y/zero_point_3: i8[1] = [-1]\n"
        "const %y/scale_4: f32[1] = [1]\n"
        "const %y/zero_point_4: i8[1] = [-10]\n"
        "%y/dequantize_2: f32[4] = dequantize(%x, %y/scale_2, %y/zero_point_2)\n"
        "%y/dequantize_3: f32[4] = dequantize(%z, %y/scale_3, %y/zero_point_3)\n"
        "%y/binary: f32[4] = binary(%y/dequantize_2, %y/dequantize_3) {function=sub}\n"
        "%y/binary_1: f32[4] = binary(%y/binary, %y/binary) {function=mul}\n"
        "%y: i8[4] = quantize(%y/binary_1, %y/scale_4, %y/zero_point_4) {rounding=half_away}\n"
        "output %y\n");
}

TEST_CASE("TFLite integers: elements are moved as they are, whatever the scales say") {
  const auto text = [](float scale) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kI8, {2, 3}, {{0.5F}, {3}});
    const int32_t dims = model.Ints("dims", {2}, {3, 2});
    const int32_t y = model.Output("y", kI8, {3, 2}, {{scale}, {3}});
    model.Node(Op::RESHAPE, {x, dims}, {y});
    return model.Text();
  };
  for (const float scale : {0.5F, 0.25F}) {
    CHECK(text(scale) ==
          "input %x: i8[2,3]\n"
          "%y: i8[3,2] = reshape(%x) {dims=[3,2]}\n"
          "output %y\n");
  }
}

TEST_CASE("TFLite integers: numbers of 16 bits are computed with in floats") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT16, {4}, {{0.5F}, {0}});
  const int32_t y = model.Output("y", TensorType::INT16, {4}, {{0.25F}, {0}});
  model.Node(Op::RELU, {x}, {y});
  CHECK(model.Text() ==
        "input %x: i16[4]\n"
        "const %y/scale: f32[1] = [0.5]\n"
        "const %y/zero_point: i16[1] = [0]\n"
        "const %y/scale_1: f32[1] = [0.25]\n"
        "const %y/zero_point_1: i16[1] = [0]\n"
        "%y/dequantize: f32[4] = dequantize(%x, %y/scale, %y/zero_point)\n"
        "%y/unary: f32[4] = unary(%y/dequantize) {function=relu}\n"
        "%y: i16[4] = quantize(%y/unary, %y/scale_1, %y/zero_point_1) {to=i16, "
        "rounding=half_away}\n"
        "output %y\n");
}

TEST_CASE("TFLite integers: numbers of 16 bits are compared in floats, of 8 bits as they are") {
  const auto text = [](TensorType type) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", type, {4}, {{0.5F}, {0}});
    const int32_t axes = model.Ints("axes", {1}, {0});
    const int32_t y = model.Output("y", type, {1}, {{0.5F}, {0}});
    model.Node(Op::REDUCE_MAX, {x, axes}, {y}, BuiltinOptions::ReducerOptions,
               format::CreateReducerOptions(model.flat, true).Union());
    return model.Text();
  };
  CHECK(text(kI8).find("dequantize") == std::string::npos);
  CHECK(text(TensorType::INT16).find("= dequantize(%x") != std::string::npos);
}

TEST_CASE("TFLite integers: what only moves numbers of 16 bits keeps their bits") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::INT16, {4}, {{0.5F}, {0}});
  const int32_t dims = model.Ints("dims", {2}, {2, 2});
  const int32_t y = model.Output("y", TensorType::INT16, {2, 2}, {{0.5F}, {0}});
  model.Node(Op::RESHAPE, {x, dims}, {y});
  CHECK(model.Text() == "input %x: i16[4]\n%y: i16[2,2] = reshape(%x) {dims=[2,2]}\noutput %y\n");
}

}  // namespace
}  // namespace tenon::converter::test
