// What float operators become, as text.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

TEST_CASE("TFLite lowering: a convolution sees channels first, its padding is explicit") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 5, 6, 2});
  const int32_t w = model.Floats("w", {4, 3, 3, 2}, std::vector<float>(72, 1.0F));
  const int32_t b = model.Floats("b", {4}, {1, 2, 3, 4});
  const int32_t y = model.Output("y", kF32, {1, 3, 3, 4});
  model.Node(Op::CONV_2D, {x, w, b}, {y}, BuiltinOptions::Conv2DOptions,
             format::CreateConv2DOptions(model.flat, format::Padding::SAME, 2, 2,
                                         format::ActivationFunctionType::RELU6)
                 .Union());
  CHECK(model.Text() ==
        "input %x: f32[1,5,6,2]\n"
        "const %w/channels_first: f32[4,2,3,3] = bytes(288, crc32c=411849C1)\n"
        "const %b: f32[4] = [1, 2, 3, 4]\n"
        "%x/channels_first: f32[1,2,5,6] = transpose(%x) {permutation=[0,3,1,2]}\n"
        "%y/conv: f32[1,4,3,3] = conv(%x/channels_first, %w/channels_first, %b) {strides=[2,2], "
        "pads=[1,0,1,1]}\n"
        "%y: f32[1,4,3,3] = unary(%y/conv) {function=clip, b=6}\n"
        "%y/channels_last: f32[1,3,3,4] = transpose(%y) {permutation=[0,2,3,1]}\n"
        "output %y/channels_last as \"y\"\n");
}

TEST_CASE("TFLite lowering: a tensor without elements is a constant that needs no data") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1});
  const int32_t scalar = model.Value("scalar", TensorType::INT32, {0});
  const int32_t y = model.Output("y", kF32, {});
  model.Node(Op::RESHAPE, {x, scalar}, {y});
  CHECK(model.Text() ==
        "input %x: f32[1]\n"
        "%y: f32[] = reshape(%x)\n"
        "output %y\n");
}

TEST_CASE("TFLite lowering: what stands between convolutions stays channels first") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 4, 4, 2});
  const int32_t w = model.Floats("w", {1, 3, 3, 2}, std::vector<float>(18, 1.0F));
  const int32_t a = model.Value("a", kF32, {1, 4, 4, 2});
  const auto depthwise = [&] {
    return format::CreateDepthwiseConv2DOptions(model.flat, format::Padding::SAME, 1, 1, 1).Union();
  };
  model.Node(Op::DEPTHWISE_CONV_2D, {x, w}, {a}, BuiltinOptions::DepthwiseConv2DOptions,
             depthwise());
  const int32_t c = model.Floats("c", {2}, {1, 2});
  const int32_t s = model.Value("s", kF32, {1, 4, 4, 2});
  model.Node(Op::ADD, {a, c}, {s});
  const int32_t j = model.Value("j", kF32, {1, 4, 4, 4});
  model.Node(Op::CONCATENATION, {s, a}, {j}, BuiltinOptions::ConcatenationOptions,
             format::CreateConcatenationOptions(model.flat, -1).Union());
  const int32_t axes = model.Ints("axes", {2}, {1, 2});
  const int32_t m = model.Output("m", kF32, {1, 4});
  model.Node(Op::MEAN, {j, axes}, {m});
  CHECK(model.Text() ==
        "input %x: f32[1,4,4,2]\n"
        "const %a/permuted: f32[2,1,3,3] = bytes(72, crc32c=893321C4)\n"
        "const %s/permuted: f32[1,2,1,1] = [1, 2]\n"
        "%x/channels_first: f32[1,2,4,4] = transpose(%x) {permutation=[0,3,1,2]}\n"
        "%a: f32[1,2,4,4] = conv(%x/channels_first, %a/permuted) {group=2, pads=[1,1,1,1]}\n"
        "%s: f32[1,2,4,4] = binary(%a, %s/permuted)\n"
        "%j: f32[1,4,4,4] = concat(%s, %a) {axis=1}\n"
        "%m/reduce: f32[1,4,1,1] = reduce(%j) {function=mean, axes_mask=12}\n"
        "%m/transpose: f32[1,1,1,4] = transpose(%m/reduce) {permutation=[0,2,3,1]}\n"
        "%m: f32[1,4] = reshape(%m/transpose) {dims=[1,4]}\n"
        "output %m\n");
}

TEST_CASE("TFLite lowering: fully connected layers flatten, or keep the dims") {
  for (const bool keep : {false, true}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2, 3, 4});
    const int32_t w = model.Floats("w", {5, 4}, std::vector<float>(20, 1.0F));
    const int32_t y = model.Output("y", kF32, {6, 5});
    model.Node(Op::FULLY_CONNECTED, {x, w, -1}, {y}, BuiltinOptions::FullyConnectedOptions,
               format::CreateFullyConnectedOptions(model.flat, format::ActivationFunctionType::NONE,
                                                   format::WeightsFormat::DEFAULT, keep)
                   .Union());
    CHECK(model.Text() == (keep ? "input %x: f32[2,3,4]\n"
                                  "const %w: f32[5,4] = bytes(80, crc32c=445C7727)\n"
                                  "%y/reshape: f32[6,4] = reshape(%x) {dims=[6,4]}\n"
                                  "%y/matmul: f32[6,5] = matmul(%y/reshape, %w) {transpose_b=1}\n"
                                  "%y: f32[2,3,5] = reshape(%y/matmul) {dims=[2,3,5]}\n"
                                  "output %y\n"
                                : "input %x: f32[2,3,4]\n"
                                  "const %w: f32[5,4] = bytes(80, crc32c=445C7727)\n"
                                  "%y/reshape: f32[6,4] = reshape(%x) {dims=[6,4]}\n"
                                  "%y: f32[6,5] = matmul(%y/reshape, %w) {transpose_b=1}\n"
                                  "output %y\n"));
  }
}

TEST_CASE("TFLite lowering: weights of which only the storage is integer become floats") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 2});
  const int32_t w =
      model.Bytes("w", TensorType::INT8, {2, 2}, {1, -2, 3, 4}, {{0.5F, 2.0F}, {0, 0}, 0});
  const int32_t y = model.Output("y", kF32, {1, 2});
  model.Node(Op::FULLY_CONNECTED, {x, w}, {y}, BuiltinOptions::FullyConnectedOptions,
             format::CreateFullyConnectedOptions(model.flat).Union());
  CHECK(model.Text() ==
        "input %x: f32[1,2]\n"
        "const %w/real: f32[2,2] = [0.5, -1, 6, 8]\n"
        "%y: f32[1,2] = matmul(%x, %w/real) {transpose_b=1}\n"
        "output %y\n");
}

TEST_CASE("TFLite lowering: a strided slice with masks, and a dropped dimension") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {3, 8, 5});
  const int32_t begin = model.Ints("begin", {3}, {1, 6, -2});
  const int32_t end = model.Ints("end", {3}, {2, 0, 100});
  const int32_t step = model.Ints("step", {3}, {1, -2, 1});
  const int32_t y = model.Output("y", kF32, {3, 2});
  model.Node(Op::STRIDED_SLICE, {x, begin, end, step}, {y}, BuiltinOptions::StridedSliceOptions,
             format::CreateStridedSliceOptions(model.flat, 0, 0, 0, 0, 1).Union());
  CHECK(model.Text() ==
        "input %x: f32[3,8,5]\n"
        "%y/slice: f32[1,3,2] = slice(%x) {begins=[1,6,3], sizes=[1,3,2], steps=[1,-2,1]}\n"
        "%y: f32[3,2] = reshape(%y/slice) {dims=[3,2]}\n"
        "output %y\n");
}

TEST_CASE("TFLite lowering: what a shape is computed from is folded") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 3, 4});
  const int32_t shape = model.Value("shape", TensorType::INT32, {3});
  model.Node(Op::SHAPE, {x}, {shape}, BuiltinOptions::ShapeOptions,
             format::CreateShapeOptions(model.flat, TensorType::INT32).Union());
  const int32_t two = model.Ints("two", {3}, {2, 1, 1});
  const int32_t doubled = model.Value("doubled", TensorType::INT32, {3});
  model.Node(Op::MUL, {shape, two}, {doubled});
  const int32_t value = model.Floats("value", {}, {7.0F});
  const int32_t y = model.Output("y", kF32, {4, 3, 4});
  model.Node(Op::FILL, {doubled, value}, {y});
  CHECK(model.Text() ==
        "input %x: f32[2,3,4]\n"
        "const %value: f32[] = [7]\n"
        "%y: f32[4,3,4] = expand(%value) {dims=[4,3,4]}\n"
        "output %y\n");
}

}  // namespace
}  // namespace tenon::converter::test
