// Quantized operators: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using onnx::TensorProto;

/// An initialiser of an integer type.
void AddIntegers(ModelBuilder& model, const std::string& name, int type,
                 const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
  TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const int32_t value : values) tensor.add_int32_data(value);
}

void AddMicrosoftDomain(ModelBuilder& model) {
  onnx::OperatorSetIdProto& import = *model.proto.add_opset_import();
  import.set_domain("com.microsoft");
  import.set_version(1);
  for (onnx::NodeProto& node : *model.graph().mutable_node()) node.set_domain("com.microsoft");
}

TEST_CASE("QuantizeLinear: the zero point says the type") {
  auto model = ModelBuilder(13).Input("x", {2, 3}).Floats("s", {}, {0.5F});
  AddIntegers(model, "z", TensorProto::INT8, {}, {-3});
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"y"}).Output("y", TensorProto::INT8);
  CHECK(model.Text() == R"(input %x: f32[2,3]
const %s/reshaped: f32[1] = [0.5]
const %z/reshaped: i8[1] = [-3]
%y: i8[2,3] = quantize(%x, %s/reshaped, %z/reshaped) "n"
output %y
)");
}

TEST_CASE("QuantizeLinear: without a zero point it gives u8; scales may run along an axis") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("s", {3}, {1, 2, 4})
                         .Node("QuantizeLinear", {"x", "s"}, {"y"})
                         .Set("axis", -1)
                         .Output("y", TensorProto::UINT8);
  CHECK(model.Text() == R"(input %x: f32[2,3]
const %s: f32[3] = [1, 2, 4]
%y: u8[2,3] = quantize(%x, %s) {to=u8, axis=1} "n"
output %y
)");
}

TEST_CASE("DequantizeLinear: scales may be computed when it runs") {
  auto model = ModelBuilder(13).Input("x", {2, 3}, TensorProto::INT32).Input("s", {1});
  model.Node("DequantizeLinear", {"x", "s"}, {"y"}).Output("y");
  CHECK(model.Text() == R"(input %x: i32[2,3]
input %s: f32[1]
%y: f32[2,3] = dequantize(%x, %s) "n"
output %y
)");
}

/// An initialiser of four bits a number, two of them in each of `bytes`.
void AddPacked(ModelBuilder& model, const std::string& name, int type,
               const std::vector<int64_t>& dims, const std::string& bytes) {
  TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(bytes);
}

constexpr int kUint4 = 21;  // libonnx 1.12 does not name them
constexpr int kInt4 = 22;

TEST_CASE("DequantizeLinear: packed numbers, and a scale for each block, of which one is short") {
  auto model = ModelBuilder(21).Input("x", {1, 3}).Floats("s", {2, 1}, {2, 10});
  AddPacked(model, "w", kInt4, {3, 1}, "\x8f\x07");  // -1, -8, 7
  model.Node("DequantizeLinear", {"w", "s"}, {"d"}).Set("axis", 0).Set("block_size", 2);
  model.Node("MatMul", {"x", "d"}, {"y"}, "m").Output("y");
  CheckClose(Run(model, {{1, 0, 0}}), {-2});
  CheckClose(Run(model, {{0, 1, 0}}), {-16});
  CheckClose(Run(model, {{0, 0, 1}}), {70});

  auto given = ModelBuilder(21).Input("s", {1, 2});
  AddPacked(given, "w", kUint4, {1, 3}, "\x8f\x07");  // 15, 8, 7
  AddPacked(given, "z", kUint4, {1, 2}, "\x75");
  given.Node("DequantizeLinear", {"w", "s", "z"}, {"y"}).Set("block_size", 2).Output("y");
  CheckClose(Run(given, {{2, 10}}), {20, 6, 0});
}

TEST_CASE("QuantizeLinear: to four bits, by tensors, and in blocks") {
  auto model = ModelBuilder(21).Input("x", {2, 2}).Floats("s", {}, {2});
  AddPacked(model, "z", kInt4, {}, "\x01");
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.Node("DequantizeLinear", {"q", "s", "z"}, {"y"}, "d").Output("y");
  CheckClose(Run(model, {{3, 5, 100, -100}}), {4, 4, 12, -18});
  auto blocks = ModelBuilder(21).Input("x", {2, 2}).Floats("s", {2, 1}, {2, 4});
  blocks.Node("QuantizeLinear", {"x", "s"}, {"q"}).Set("block_size", 2).Set("output_dtype", kUint4);
  blocks.Node("DequantizeLinear", {"q", "s"}, {"y"}, "d").Set("block_size", 2).Output("y");
  CheckClose(Run(blocks, {{3, 100, 6.5F, -1}}), {4, 30, 8, 0});
}

TEST_CASE("Numbers of less than a byte: what computes with them is refused") {
  auto model = ModelBuilder(21).Input("x", {2});
  AddPacked(model, "w", kInt4, {2}, "\x21");
  model.Node("Transpose", {"w"}, {"t"}).Node("Add", {"t", "t"}, {"y"}, "a").Output("y");
  CHECK(model.Text() == "error: node 'a' (Add): its input 't' has numbers of less than a byte");
  auto wrong = ModelBuilder(21).Input("s", {});
  AddPacked(wrong, "w", kInt4, {3}, "\x21");
  wrong.Node("DequantizeLinear", {"w", "s"}, {"y"}).Output("y");
  CHECK(wrong.Text().find("wrong data size: 1 bytes, its dims want 2") != std::string::npos);
}

TEST_CASE("QuantizeLinear: blocks that do not fit and types that there are not are refused") {
  const auto blocks = ModelBuilder(21)
                          .Input("x", {4, 3})
                          .Floats("s", {2, 3})
                          .Node("QuantizeLinear", {"x", "s"}, {"y"})
                          .Set("block_size", 3)
                          .Output("y", TensorProto::UINT8);
  CHECK(blocks.Text() ==
        "error: node 'n' (QuantizeLinear): its scales have shape 2x3, 4x1 is wanted for blocks of "
        "3 along axis 1");
  const auto matrix = ModelBuilder(21)
                          .Input("x", {4, 3})
                          .Floats("s", {2, 3})
                          .Node("QuantizeLinear", {"x", "s"}, {"y"})
                          .Output("y", TensorProto::UINT8);
  CHECK(matrix.Text().find("unless block_size says how long the blocks are") != std::string::npos);
  const auto type = ModelBuilder(21)
                        .Input("x", {4, 3})
                        .Floats("s", {}, {1})
                        .Node("QuantizeLinear", {"x", "s"}, {"y"})
                        .Set("output_dtype", 17)
                        .Output("y", TensorProto::UINT8);
  CHECK(type.Text() ==
        "error: node 'n' (QuantizeLinear): element type FLOAT8E4M3FN is not supported");
}

TEST_CASE("QLinearConv: is dequantize, conv and quantize, its bias in units of both scales") {
  auto model = ModelBuilder(13).Input("x", {1, 1, 2, 2}, TensorProto::UINT8);
  model.Floats("xs", {}, {0.5F}).Floats("ws", {}, {2}).Floats("ys", {}, {4});
  AddIntegers(model, "xz", TensorProto::UINT8, {}, {7});
  AddIntegers(model, "w", TensorProto::INT8, {1, 1, 1, 1}, {-2});
  AddIntegers(model, "wz", TensorProto::INT8, {}, {0});
  AddIntegers(model, "yz", TensorProto::UINT8, {}, {9});
  AddIntegers(model, "b", TensorProto::INT32, {1}, {100});
  model.Node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"})
      .Output("y", TensorProto::UINT8);
  const std::string text = model.Text();
  CHECK(text.find("const %n/bias_scale: f32[1] = [1]\n") != std::string::npos);
  CHECK(text.substr(text.find("%n/dequantize: ")) ==
        R"(%n/dequantize: f32[1,1,2,2] = dequantize(%x, %xs/reshaped, %xz/reshaped)
%n/dequantize_2: f32[1,1,1,1] = dequantize(%w, %ws/reshaped, %wz/reshaped)
%n/dequantize_3: f32[1] = dequantize(%b, %n/bias_scale)
%n/conv: f32[1,1,2,2] = conv(%n/dequantize, %n/dequantize_2, %n/dequantize_3)
%y: u8[1,1,2,2] = quantize(%n/conv, %ys/reshaped, %yz/reshaped) {to=u8} "n"
output %y
)");
}

TEST_CASE("QLinearMatMul: a scale that is computed is refused, and --freeze named") {
  auto model = ModelBuilder(13).Input("x", {2, 2}, TensorProto::UINT8).Input("xs", {1});
  AddIntegers(model, "z", TensorProto::UINT8, {}, {7});
  model.Floats("s", {}, {0.5F});
  model.Node("QLinearMatMul", {"x", "xs", "z", "x", "s", "z", "s", "z"}, {"y"})
      .Output("y", TensorProto::UINT8);
  CHECK(model.Text().find("--freeze xs=FILE.npy") != std::string::npos);
}

TEST_CASE("ConvInteger and MatMulInteger: the sum itself, zero points known when it runs") {
  auto conv = ModelBuilder(13)
                  .Input("x", {1, 1, 3}, TensorProto::UINT8)
                  .Input("w", {1, 1, 2}, TensorProto::UINT8)
                  .Input("z", {}, TensorProto::UINT8);
  conv.Node("ConvInteger", {"x", "w", "z"}, {"y"}).Output("y", TensorProto::INT32);
  CHECK(conv.Text() == R"(input %x: u8[1,1,3]
input %w: u8[1,1,2]
input %z: u8[]
%n/reshape: u8[1,1,1,3] = reshape(%x) {dims=[1,1,1,3]}
%n/reshape_2: u8[1,1,1,2] = reshape(%w) {dims=[1,1,1,2]}
%n/reshape_3: u8[1] = reshape(%z) {dims=[1]}
%n/quantized_conv: i32[1,1,1,2] = quantized_conv(%n/reshape, %n/reshape_2, _, _, _, %n/reshape_3, _) {to=i32}
%y: i32[1,1,2] = reshape(%n/quantized_conv) {dims=[1,1,2]} "n"
output %y
)");
  auto rows = ModelBuilder(13)
                  .Input("x", {2, 2}, TensorProto::UINT8)
                  .Input("w", {2, 2}, TensorProto::UINT8)
                  .Input("z", {2}, TensorProto::UINT8);
  rows.Node("MatMulInteger", {"x", "w", "z"}, {"y"}).Output("y", TensorProto::INT32);
  CHECK(rows.Text() ==
        "error: node 'n' (MatMulInteger): a zero point for each row is not supported");
}

TEST_CASE("MatMulInteger: a zero point of run time is taken off the sums") {
  auto model = ModelBuilder(13).Input("x", {2, 2});
  AddIntegers(model, "w", TensorProto::INT8, {2, 3}, {1, 2, 3, -4, 5, 6});
  AddIntegers(model, "wz", TensorProto::INT8, {}, {1});
  model.Node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}, "d");
  model.Node("MatMulInteger", {"xq", "w", "xz", "wz"}, {"y"}).Output("y", TensorProto::INT32);
  CHECK(model.Text().find("quantized_matmul(%xq, %w, _, _, _, _, %wz/reshaped) {to=i32}") !=
        std::string::npos);
  // The range -1 to 1.55 has the scale 0.01 and the zero point 100.
  const auto y = Run<int32_t>(model, {{-1.0F, 0.5F, 1.55F, 0.25F}});
  // Rows (-100, 50) and (155, 25) times w - 1.
  CHECK(y == std::vector<int32_t>{-250, 100, 50, -125, 255, 435});
}

TEST_CASE("ConvInteger: a zero point of run time is taken off the sums, of padding too") {
  for (const bool padded : {false, true}) {
    auto model = ModelBuilder(13).Input("x", {1, 1, 4});
    AddIntegers(model, "w", TensorProto::INT8, {1, 1, 2}, {3, -4});
    AddIntegers(model, "wz", TensorProto::INT8, {}, {1});
    model.Node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}, "d");
    model.Node("ConvInteger", {"xq", "w", "xz", "wz"}, {"y"});
    if (padded) model.Set("pads", std::vector<int64_t>{1, 1});
    model.Output("y", TensorProto::INT32);
    CHECK(model.Text().find(", _, _, _, _, %wz/reshaped)") != std::string::npos);
    // The range -1 to 1.55 has the scale 0.01 and the zero point 100: -100, 50, 155, 25.
    const auto y = Run<int32_t>(model, {{-1.0F, 0.5F, 1.55F, 0.25F}});
    const std::vector<int32_t> inner = {-450, -675, 185};
    CHECK(y == (padded ? std::vector<int32_t>{500, -450, -675, 185, 50} : inner));
  }
}

TEST_CASE("ConvInteger: a zero point of run time is taken off the sums of an image of any size") {
  auto model = ModelBuilder(13).Input("x", {1, 1, 2048, 2049});
  AddIntegers(model, "w", TensorProto::INT8, {1, 1, 1, 2}, {3, -4});
  model.Node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}, "d");
  model.Node("ConvInteger", {"xq", "w", "xz"}, {"y"}).Output("y", TensorProto::INT32);
  CHECK(model.Text().find("quantized_conv(%xq, %w, _, _, _, _, _) {to=i32}") != std::string::npos);
}

TEST_CASE(
    "DynamicQuantizeLSTM: its products are of integers whose zero points are taken off the sums, "
    "its "
    "results near those of floats") {
  const auto lstm = [](bool dynamic) {
    const std::vector<int32_t> w = {20, -100, 60, 80, -30, 50, 90, -70};
    auto model = ModelBuilder(13).Input("x", {2, 1, 2}).Floats("s", {1}, {0.01F});
    AddIntegers(model, "z", TensorProto::INT8, {1}, {0});
    AddIntegers(model, "w", TensorProto::INT8, {1, 2, 4}, w);
    AddIntegers(model, "r", TensorProto::INT8, {1, 1, 4}, {40, -20, 70, 10});
    model.Floats("fw", {1, 4, 2}, {0.2F, -0.3F, -1.0F, 0.5F, 0.6F, 0.9F, 0.8F, -0.7F});
    model.Floats("fr", {1, 4, 1}, {0.4F, -0.2F, 0.7F, 0.1F});
    if (dynamic) {
      model.Node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"},
                 {"y"});
    } else {
      model.Node("LSTM", {"x", "fw", "fr"}, {"y"});
    }
    model.Set("hidden_size", 1).Output("y");
    if (dynamic) AddMicrosoftDomain(model);
    return model;
  };
  const std::string text = lstm(true).Text();
  CHECK(text.find("= matmul(") == std::string::npos);
  // Of the inputs and of the second step, whose h is no constant.
  CHECK(text.find("quantized_matmul(%n/quantize, %w/reshaped, _, _, _, _, _)") != text.npos);
  CHECK(text.find("quantized_matmul(%n/quantize_3, %r/reshaped, _, _, _, _, _)") != text.npos);
  const std::vector<Floats> x = {{0.5F, -1.0F, 1.5F, 0.25F}};
  const Floats integers = Run(lstm(true), x);
  const Floats floats = Run(lstm(false), x);
  REQUIRE(integers.size() == 2);
  for (size_t i = 0; i < 2; ++i) CHECK(integers[i] == doctest::Approx(floats[i]).epsilon(0.02));
}

TEST_CASE("QLinear operators of com.microsoft: dequantize, the float op, quantize") {
  auto model = ModelBuilder(13).Input("x", {2, 2}, TensorProto::INT8).Floats("s", {}, {0.5F});
  AddIntegers(model, "z", TensorProto::INT8, {}, {7});
  model.Node("QLinearLeakyRelu", {"x", "s", "z", "s", "z"}, {"y"})
      .Set("alpha", 0.25F)
      .Output("y", TensorProto::INT8);
  AddMicrosoftDomain(model);
  CHECK(model.Text() == R"(input %x: i8[2,2]
const %s/reshaped: f32[1] = [0.5]
const %z/reshaped: i8[1] = [7]
const %s/reshaped_2: f32[1] = [0.5]
const %z/reshaped_2: i8[1] = [7]
%n/dequantize: f32[2,2] = dequantize(%x, %s/reshaped, %z/reshaped)
%n/unary: f32[2,2] = unary(%n/dequantize) {function=leaky_relu, a=0.25}
%y: i8[2,2] = quantize(%n/unary, %s/reshaped_2, %z/reshaped_2) "n"
output %y
)");
}

TEST_CASE("Operators of com.microsoft that are not known are listed with their domain") {
  auto model = ModelBuilder(13).Input("x", {2, 2});
  model.Node("QLinearWhere", {"x"}, {"y"}).Output("y");
  AddMicrosoftDomain(model);
  CHECK(model.Text().find("unsupported op QLinearWhere (domain com.microsoft): n") !=
        std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
