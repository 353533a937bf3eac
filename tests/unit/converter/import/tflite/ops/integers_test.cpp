// Operators of 8-bit integers against the same operators of the numbers that these stand for: the
// integer result is within a step of the real one, whatever the scales.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::ActivationFunctionType;
using format::BuiltinOptions;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;
using Builder = flatbuffers::FlatBufferBuilder;
using OptionsMaker = std::function<flatbuffers::Offset<void>(Builder&)>;

struct Operand {
  Dims dims;
  Numbers numbers;  ///< none: i32 as they are
  Ints constant;    ///< empty: an input
  TensorType type = kI8;
};

struct Case {
  Op op;
  std::vector<Operand> operands;
  Operand output;
  BuiltinOptions type = BuiltinOptions::NONE;
  OptionsMaker options = nullptr;
};

size_t Count(const Dims& dims) {
  size_t count = 1;
  for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

/// Every value of the type in turn, so that 256 elements have them all.
int32_t Value(TensorType type, size_t i) {
  const auto byte = static_cast<int32_t>(i * 37 % 256);
  return type == kI8 ? byte - 128 : byte;
}

float Real(const Operand& operand, int32_t value, size_t i) {
  const size_t scales = operand.numbers.scales.size();
  const size_t inner =
      Count(operand.dims) / static_cast<size_t>(operand.dims.empty() ? 1 : operand.dims[0]);
  const size_t k = scales == 1 ? 0 : i / inner;
  return operand.numbers.scales[k] *
         static_cast<float>(value - static_cast<int32_t>(operand.numbers.zero_points[k]));
}

int32_t AddConstant(TfliteBuilder& model, const std::string& name, const Operand& operand,
                    bool in_floats) {
  if (in_floats && !operand.numbers.scales.empty()) {
    Floats values;
    for (size_t i = 0; i < operand.constant.size(); ++i) {
      values.push_back(Real(operand, operand.constant[i], i));
    }
    return model.Floats(name, operand.dims, values);
  }
  return operand.type == TensorType::INT32 || operand.numbers.scales.empty()
             ? model.Ints(name, operand.dims, operand.constant, operand.numbers)
             : model.Bytes(name, operand.type, operand.dims, operand.constant, operand.numbers);
}

/// The output's elements as they are stored, of the integer form or of that in floats.
std::vector<double> RunCase(const Case& one, bool in_floats) {
  TfliteBuilder model;
  std::vector<int32_t> operands;
  std::vector<const Operand*> inputs;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    const Operand& operand = one.operands[i];
    const std::string name = "x" + std::to_string(i);
    if (!operand.constant.empty()) {
      operands.push_back(AddConstant(model, name, operand, in_floats));
      continue;
    }
    inputs.push_back(&operand);
    operands.push_back(in_floats ? model.Input(name, kF32, operand.dims)
                                 : model.Input(name, operand.type, operand.dims, operand.numbers));
  }
  const int32_t y = in_floats
                        ? model.Output("y", kF32, one.output.dims)
                        : model.Output("y", one.output.type, one.output.dims, one.output.numbers);
  model.Node(one.op, operands, {y}, one.type, one.options ? one.options(model.flat) : 0);
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  for (size_t k = 0; k < inputs.size(); ++k) {
    auto& bytes = values[graph->inputs().at(k).tensor];
    for (size_t i = 0; i < Count(inputs[k]->dims); ++i) {
      const int32_t value = Value(inputs[k]->type, i + 5 * k);
      const float real = Real(*inputs[k], value, i);
      const size_t at = bytes.size();
      bytes.resize(at + (in_floats ? sizeof real : 1));
      if (in_floats) std::memcpy(bytes.data() + at, &real, sizeof real);
      if (!in_floats) bytes[at] = static_cast<std::byte>(value);
    }
  }
  const TensorId wanted = graph->outputs().at(0).tensor;
  REQUIRE(Evaluate(*graph, {wanted}, values).ok());
  const auto& bytes = values.at(wanted);
  std::vector<double> found;
  const size_t size = in_floats ? sizeof(float) : 1;
  for (size_t at = 0; at < bytes.size(); at += size) {
    float real = 0;
    if (in_floats) std::memcpy(&real, bytes.data() + at, sizeof real);
    const auto byte = static_cast<uint8_t>(bytes[at]);
    found.push_back(in_floats                ? double{real}
                    : one.output.type == kI8 ? static_cast<int8_t>(byte)
                                             : byte);
  }
  return found;
}

/// The largest difference between the integers and what the floats would be stored as, in steps.
double Steps(const Case& one) {
  const std::vector<double> integers = RunCase(one, false);
  const std::vector<double> reals = RunCase(one, true);
  REQUIRE(integers.size() == Count(one.output.dims));
  REQUIRE(reals.size() == integers.size());
  const bool is_signed = one.output.type == kI8;
  const double scale = double{one.output.numbers.scales[0]};
  const auto zero_point = static_cast<double>(one.output.numbers.zero_points[0]);
  double most = 0;
  for (size_t i = 0; i < reals.size(); ++i) {
    if (std::isnan(reals[i])) continue;  // the logarithm of what is negative
    const double stored = std::clamp(std::round(reals[i] / scale) + zero_point,
                                     is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
    most = std::max(most, std::fabs(integers[i] - stored));
  }
  return most;
}

Operand Tensor(const Dims& dims, float scale, int64_t zero_point, TensorType type = kI8) {
  return {dims, {{scale}, {zero_point}}, {}, type};
}

Operand Constant(const Dims& dims, float scale, int64_t zero_point, const Ints& values) {
  return {dims, {{scale}, {zero_point}}, values, kI8};
}

TEST_CASE("TFLite integers: functions of one tensor are those of the numbers, to a step") {
  const Op functions[] = {Op::ABS,       Op::ELU,         Op::EXP,          Op::GELU,
                          Op::LOG,       Op::LOGISTIC,    Op::TANH,         Op::RELU,
                          Op::RELU6,     Op::RELU_0_TO_1, Op::RELU_N1_TO_1, Op::HARD_SWISH,
                          Op::LEAKY_RELU};
  for (const Op op : functions) {
    CAPTURE(format::EnumNameBuiltinOperator(op));
    for (const TensorType type : {kI8, kU8}) {
      const int64_t zero = type == kI8 ? -20 : 108;
      CHECK(
          Steps({op, {Tensor({256}, 0.0625F, zero, type)}, Tensor({256}, 0.05F, zero + 7, type)}) <=
          1);
    }
  }
}

// TFLite's arithmetic overflows there, or shifts by less than nothing.
TEST_CASE("TFLite integers: functions between scales that are far apart saturate") {
  for (const Op op : {Op::RELU, Op::HARD_SWISH, Op::QUANTIZE}) {
    CAPTURE(format::EnumNameBuiltinOperator(op));
    for (const float scale : {0.001F, 1.0e-6F, 1.0e-8F}) {
      TfliteBuilder model;
      const int32_t x = model.Input("x", kI8, {256}, {{0.5F}, {-20}});
      const int32_t y = model.Output("y", kI8, {256}, {{scale}, {7}});
      model.Node(op, {x}, {y});
      const Result<Graph> graph = ImportBytes(model.File());
      REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
      const converter::Op made = graph->op(graph->OpOrder()[0]);
      const std::vector<double> table = ReadElements(graph->tensor(made.inputs[1]));
      REQUIRE(table.size() == 256);
      CHECK(table[0] == (op == Op::QUANTIZE ? -128 : 7));  // -54
      CHECK(table[108] == 7);                              // 0
      CHECK(table[128] == 127);                            // 10
      CHECK(table[255] == 127);                            // 73.5
    }
  }
}

TEST_CASE("TFLite integers: GELU by tanh, and LEAKY_RELU of any slope") {
  const auto of = [](Op op, BuiltinOptions type, const OptionsMaker& options) {
    return Steps({op, {Tensor({256}, 0.0625F, -20)}, Tensor({256}, 0.07F, 10), type, options});
  };
  CHECK(of(Op::GELU, BuiltinOptions::GeluOptions,
           [](Builder& flat) { return format::CreateGeluOptions(flat, true).Union(); }) <= 1);
  for (const float slope : {0.25F, 1.5F, 0.0F, -0.5F}) {
    CAPTURE(slope);
    CHECK(of(Op::LEAKY_RELU, BuiltinOptions::LeakyReluOptions, [=](Builder& flat) {
            return format::CreateLeakyReluOptions(flat, slope).Union();
          }) <= 1);
  }
}

TEST_CASE("TFLite integers: sums, differences and products of any scales, to a step") {
  const Operand x = Tensor({256}, 0.0625F, -20);
  const Operand y = Tensor({256}, 0.11F, 3);
  const Operand c = Constant({4}, 0.03F, 5, {-128, 0, 77, 127});
  CHECK(Steps({Op::ADD, {x, y}, Tensor({256}, 0.15F, 1)}) <= 1);
  CHECK(
      Steps(
          {Op::SUB, {x, y}, Tensor({256}, 0.15F, 1), BuiltinOptions::SubOptions, [](Builder& flat) {
             return format::CreateSubOptions(flat, ActivationFunctionType::RELU6).Union();
           }}) <= 1);
  CHECK(
      Steps(
          {Op::MUL, {x, y}, Tensor({256}, 0.5F, -2), BuiltinOptions::MulOptions, [](Builder& flat) {
             return format::CreateMulOptions(flat, ActivationFunctionType::RELU_N1_TO_1).Union();
           }}) <= 1);
  CHECK(Steps({Op::MUL, {Tensor({64, 4}, 0.0625F, -20), c}, Tensor({64, 4}, 0.3F, -2)}) <= 1);
  for (const Op op : {Op::MAXIMUM, Op::MINIMUM, Op::SQUARED_DIFFERENCE}) {
    CAPTURE(format::EnumNameBuiltinOperator(op));
    CHECK(Steps({op, {x, y}, Tensor({256}, 0.15F, 1)}) <= 1);
    CHECK(Steps({op, {x, x}, x}) <= 1);
  }
}

TEST_CASE("TFLite integers: PRELU of one slope and of a slope each channel, to a step") {
  const Operand x = Tensor({64, 4}, 0.0625F, -20);
  CHECK(Steps({Op::PRELU, {x, Constant({1}, 0.01F, 0, {-50})}, Tensor({64, 4}, 0.05F, 1)}) <= 1);
  CHECK(Steps({Op::PRELU,
               {x, Constant({4}, 0.01F, 2, {-50, 0, 25, 127})},
               Tensor({64, 4}, 0.05F, 1)}) <= 1);
  // Slopes that are computed are made real.
  CHECK(Steps({Op::PRELU, {x, Tensor({4}, 0.01F, 0)}, Tensor({64, 4}, 0.05F, 1)}) <= 1);
}

TEST_CASE("TFLite integers: parts of other scales are joined on the output's") {
  for (const auto activation : {ActivationFunctionType::NONE, ActivationFunctionType::RELU}) {
    CHECK(Steps({Op::CONCATENATION,
                 {Tensor({2, 128}, 0.0625F, -20), Tensor({2, 128}, 0.05F, 1)},
                 Tensor({2, 256}, 0.05F, 1),
                 BuiltinOptions::ConcatenationOptions,
                 [=](Builder& flat) {
                   return format::CreateConcatenationOptions(flat, 1, activation).Union();
                 }}) <= 1);
  }
}

TEST_CASE("TFLite integers: softmax on its built-in scale and on another, of any steepness") {
  const auto softmax = [](float scale, float beta) {
    return Steps({Op::SOFTMAX,
                  {Tensor({16, 16}, 0.1F, -20)},
                  Tensor({16, 16}, scale, -128),
                  BuiltinOptions::SoftmaxOptions,
                  [=](Builder& flat) { return format::CreateSoftmaxOptions(flat, beta).Union(); }});
  };
  CHECK(softmax(1.0F / 256.0F, 1.0F) <= 1);
  CHECK(softmax(1.0F / 256.0F, 0.25F) <= 1);
  CHECK(softmax(0.005F, 2.0F) <= 1);
  CHECK(Steps({Op::LOG_SOFTMAX,
               {Tensor({16, 16}, 0.1F, -20)},
               Tensor({16, 16}, 16.0F / 256.0F, 127)}) <= 1);
  CHECK(Steps({Op::L2_NORMALIZATION,
               {Tensor({16, 16}, 0.1F, -20)},
               Tensor({16, 16}, 1.0F / 128.0F, 0)}) <= 1);
}

TEST_CASE("TFLite integers: sums and means along axes, largest and smallest elements") {
  const Operand x = Tensor({4, 8, 8}, 0.0625F, -20);
  const Operand axes{{2}, {}, {0, 2}, TensorType::INT32};
  const OptionsMaker keep = [](Builder& flat) {
    return format::CreateReducerOptions(flat, true).Union();
  };
  for (const Op op : {Op::MEAN, Op::SUM, Op::REDUCE_MAX, Op::REDUCE_MIN}) {
    CAPTURE(format::EnumNameBuiltinOperator(op));
    const float scale = op == Op::SUM ? 1.0F : 0.0625F;
    CHECK(
        Steps(
            {op, {x, axes}, Tensor({1, 8, 1}, scale, -20), BuiltinOptions::ReducerOptions, keep}) <=
        1);
  }
  CHECK(Steps({Op::MEAN, {x, axes}, Tensor({8}, 0.05F, 3)}) <= 1);
}

TEST_CASE("TFLite integers: pooling takes the integers as they are, whatever the scales say") {
  for (const Op op : {Op::MAX_POOL_2D, Op::AVERAGE_POOL_2D}) {
    const auto pooled = [&](float scale, ActivationFunctionType activation) {
      return Case{op,
                  {Tensor({1, 8, 8, 4}, 0.0625F, -20)},
                  Tensor({1, 4, 4, 4}, scale, -20),
                  BuiltinOptions::Pool2DOptions,
                  [=](Builder& flat) {
                    return format::CreatePool2DOptions(flat, format::Padding::SAME, 2, 2, 2, 2,
                                                       activation)
                        .Union();
                  }};
    };
    CHECK(Steps(pooled(0.0625F, ActivationFunctionType::RELU6)) <= 1);
    CHECK(RunCase(pooled(0.05F, ActivationFunctionType::NONE), false) ==
          RunCase(pooled(0.0625F, ActivationFunctionType::NONE), false));
  }
}

OptionsMaker Connected(ActivationFunctionType activation) {
  return
      [=](Builder& flat) { return format::CreateFullyConnectedOptions(flat, activation).Union(); };
}

TEST_CASE(
    "TFLite integers: dense layers with a bias, with a scale each output, and with real inputs") {
  const Operand x = Tensor({16, 4}, 0.0625F, -20);
  const Operand w = Constant({2, 4}, 0.02F, 0, {-100, 50, 3, 127, 0, 1, -1, 90});
  const Operand bias{{2}, {{0.00125F}, {0}}, {1000, -2000}, TensorType::INT32};
  const auto layer = [](const std::vector<Operand>& operands) {
    return Steps({Op::FULLY_CONNECTED, operands, Tensor({16, 2}, 0.2F, 4),
                  BuiltinOptions::FullyConnectedOptions, Connected(ActivationFunctionType::RELU)});
  };
  CHECK(layer({x, w}) <= 1);
  CHECK(layer({x, w, bias}) <= 1);
  Operand each = w;
  each.numbers = {{0.02F, 0.01F}, {0, 0}};
  Operand bias_each = bias;
  bias_each.numbers = {{0.00125F, 0.000625F}, {0, 0}};
  CHECK(layer({x, each, bias_each}) <= 1);
}

TEST_CASE("TFLite integers: products of two tensors, either of them turned") {
  for (const bool turned : {false, true}) {
    CHECK(Steps({Op::BATCH_MATMUL,
                 {Tensor(turned ? Dims{2, 4, 8} : Dims{2, 8, 4}, 0.0625F, -20),
                  Tensor(turned ? Dims{2, 4, 4} : Dims{2, 4, 4}, 0.05F, 3)},
                 Tensor({2, 8, 4}, 0.5F, 4),
                 BuiltinOptions::BatchMatMulOptions,
                 [=](Builder& flat) {
                   return format::CreateBatchMatMulOptions(flat, turned, turned).Union();
                 }}) <= 1);
  }
}

TEST_CASE(
    "TFLite integers: transposed convolutions with a scale for all, for each output, and of u8") {
  const Operand dims{{4}, {}, {1, 4, 4, 2}, TensorType::INT32};
  const Operand x = Tensor({1, 2, 2, 1}, 0.0625F, -20);
  const Operand w = Constant({2, 2, 2, 1}, 0.02F, 0, {-100, 50, 3, 127, 0, 1, -1, 90});
  const auto layer = [&](const std::vector<Operand>& operands) {
    return Steps(
        {Op::TRANSPOSE_CONV, operands, Tensor({1, 4, 4, 2}, 0.2F, 4),
         BuiltinOptions::TransposeConvOptions, [](Builder& flat) {
           return format::CreateTransposeConvOptions(flat, format::Padding::SAME, 2, 2).Union();
         }});
  };
  CHECK(layer({dims, w, x}) <= 1);
  Operand each = w;
  each.numbers = {{0.02F, 0.01F}, {0, 0}};
  const Operand bias{{2}, {{0.00125F, 0.000625F}, {0, 0}}, {1000, -2000}, TensorType::INT32};
  CHECK(layer({dims, each, x, bias}) <= 1);
  Operand shifted = w;
  shifted.numbers = {{0.02F}, {7}};
  CHECK(layer({dims, shifted, x}) <= 1);
}

TEST_CASE("TFLite integers: scales that differ too much, or fit no number, are refused in words") {
  const auto refused = [](Op op, float x_scale, float y_scale) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kI8, {4}, {{x_scale}, {0}});
    const int32_t y = model.Output("y", kI8, {4}, {{y_scale}, {0}});
    model.Node(op, {x}, {y});
    return model.Text();
  };
  const std::string words = "its scales differ by a factor of more than 2^30, out of range";
  for (const Op op : {Op::RELU, Op::LEAKY_RELU, Op::QUANTIZE}) {
    const std::string name = format::EnumNameBuiltinOperator(op);
    CHECK(refused(op, 1.0e20F, 1.0F) == "error: node 'y' (" + name + "): " + words);
    CHECK(refused(op, 1.0e30F, 1.0e-30F) == "error: node 'y' (" + name + "): " + words);
  }
}

TEST_CASE("TFLite integers: what quantizes to no integers, or from none, is refused") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {4});
  const int32_t y = model.Output("y", kI8, {4});
  model.Node(Op::QUANTIZE, {x}, {y});
  CHECK(model.Text() == "error: node 'y' (QUANTIZE): its output is not quantized");
  TfliteBuilder back;
  const int32_t q = back.Input("q", kI8, {4});
  const int32_t f = back.Output("f", kF32, {4});
  back.Node(Op::DEQUANTIZE, {q}, {f});
  CHECK(back.Text() == "error: node 'f' (DEQUANTIZE): its input is not quantized");
}

}  // namespace
}  // namespace tenon::converter::test
