// Operators that ONNX Runtime's optimiser puts together, against what they are put together from.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/converter/import/onnx/ops/microsoft.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Names = std::vector<std::string>;
using Dims = std::vector<int64_t>;

/// Between -1 and 1, of no order.
Floats UnorderedValues(size_t count, int seed = 0) {
  Floats values;
  for (size_t i = 0; i < count; ++i) {
    const int number = (static_cast<int>(i) * 37 + seed * 11) % 101;
    values.push_back(static_cast<float>(number - 50) / 50.0F);
  }
  return values;
}

float GeluOf(float x) { return 0.5F * x * (1.0F + std::erf(x / std::sqrt(2.0F))); }

float GeluTanhOf(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
}

/// Runs the model and one of unfused nodes on the same inputs.
void CheckSame(const ModelBuilder& fused, const ModelBuilder& plain,
               const std::vector<Floats>& inputs) {
  CheckClose(Run(fused, inputs), Run(plain, inputs));
}

TEST_CASE("GELUs of com.microsoft, with and without a bias") {
  const Floats x = UnorderedValues(6);
  const auto run = [&](const char* op, const Names& inputs) {
    auto model = ModelBuilder(13).Input("x", {2, 3}).Floats("b", {3}, {1, -1, 0.5F});
    Microsoft(model.Node(op, inputs, {"y"})).Output("y");
    return Run(model, {x});
  };
  const Floats bias = {1, -1, 0.5F};
  Floats gelu;
  Floats biased;
  Floats tanh;
  Floats quick;
  for (size_t i = 0; i < x.size(); ++i) {
    gelu.push_back(GeluOf(x[i]));
    biased.push_back(GeluOf(x[i] + bias[i % 3]));
    tanh.push_back(GeluTanhOf(x[i] + bias[i % 3]));
    quick.push_back(x[i] / (1.0F + std::exp(-1.702F * x[i])));
  }
  CheckClose(run("Gelu", {"x"}), gelu);
  CheckClose(run("BiasGelu", {"x", "b"}), biased);
  CheckClose(run("FastGelu", {"x", "b"}), tanh);
  CheckClose(run("QuickGelu", {"x"}), quick);
}

TEST_CASE("BiasSoftmax, BiasAdd and BiasSplitGelu: a sum goes before them") {
  const Floats x = UnorderedValues(4);
  const Floats bias = {1, -1};
  auto softmax = ModelBuilder(13).Input("x", {2, 2}).Floats("b", {2}, bias);
  Microsoft(softmax.Node("BiasSoftmax", {"x", "b"}, {"y"}))
      .Set("axis", 1)
      .Set("is_inner_broadcast", 0)
      .Output("y");
  Floats shares;
  for (size_t row = 0; row < 4; row += 2) {
    const float first = std::exp(x[row] + 1);
    const float second = std::exp(x[row + 1] - 1);
    shares.push_back(first / (first + second));
    shares.push_back(second / (first + second));
  }
  CheckClose(Run(softmax, {x}), shares);

  auto sum = ModelBuilder(13).Input("x", {2, 2}).Floats("b", {2}, bias);
  Microsoft(sum.Node("BiasAdd", {"x", "b", "x"}, {"y"})).Output("y");
  CheckClose(Run(sum, {x}), {2 * x[0] + 1, 2 * x[1] - 1, 2 * x[2] + 1, 2 * x[3] - 1});

  auto split = ModelBuilder(13).Input("x", {2, 2}).Floats("b", {2}, bias);
  Microsoft(split.Node("BiasSplitGelu", {"x", "b"}, {"y"})).Output("y");
  CheckClose(Run(split, {x}), {(x[0] + 1) * GeluOf(x[1] - 1), (x[2] + 1) * GeluOf(x[3] - 1)});
}

TEST_CASE("SkipLayerNormalization: the sum of three is normalised, and is an output too") {
  const auto make = [](const std::string& output) {
    auto model = ModelBuilder(17)
                     .Input("x", {2, 2, 4})
                     .Floats("s", {2, 4}, UnorderedValues(8, 1))
                     .Floats("g", {4})
                     .Floats("b", {4}, UnorderedValues(4, 2))
                     .Floats("c", {4}, UnorderedValues(4, 3));
    Microsoft(model.Node("SkipLayerNormalization", {"x", "s", "g", "b", "c"}, {"y", "", "", "z"}))
        .Set("epsilon", 0.125F);
    return model.Output(output);
  };
  const auto plain = [](const std::string& output) {
    return ModelBuilder(17)
        .Input("x", {2, 2, 4})
        .Floats("s", {2, 4}, UnorderedValues(8, 1))
        .Floats("g", {4})
        .Floats("b", {4}, UnorderedValues(4, 2))
        .Floats("c", {4}, UnorderedValues(4, 3))
        .Node("Add", {"x", "s"}, {"sum"})
        .Node("Add", {"sum", "c"}, {"z"})
        .Node("LayerNormalization", {"z", "g", "b"}, {"y"})
        .Set("epsilon", 0.125F)
        .Output(output);
  };
  for (const char* output : {"y", "z"})
    CheckSame(make(output), plain(output), {UnorderedValues(16)});
}

TEST_CASE("SimplifiedLayerNormalization: x over the root of its mean square, no operator of ONNX") {
  const Floats x = UnorderedValues(6);
  const auto model = ModelBuilder(17)
                         .Input("x", {2, 3})
                         .Floats("g", {3})
                         .Node("SimplifiedLayerNormalization", {"x", "g"}, {"y"})
                         .Set("epsilon", 0.125F)
                         .Set("stash_type", 1)
                         .Output("y");
  Floats wanted;
  for (size_t i = 0; i < 6; ++i) {
    const float* row = x.data() + i / 3 * 3;
    const float mean = (row[0] * row[0] + row[1] * row[1] + row[2] * row[2]) / 3;
    wanted.push_back(x[i] / std::sqrt(mean + 0.125F) * static_cast<float>(i % 3 + 1));
  }
  CheckClose(Run(model, {x}), wanted);

  auto skip = ModelBuilder(17).Input("x", {2, 3}).Floats("g", {3}).Floats("o", {2, 3}, Floats(6));
  Microsoft(skip.Node("SkipSimplifiedLayerNormalization", {"x", "o", "g"}, {"y"}))
      .Set("epsilon", 0.125F)
      .Output("y");
  CheckClose(Run(skip, {x}), wanted);

  auto biased = ModelBuilder(17).Input("x", {2, 3}).Floats("g", {3}).Floats("b", {3}, {1, 2, 3});
  biased.Floats("o", {2, 3}, {-1, -2, -3, -1, -2, -3});  // what the bias adds
  Microsoft(biased.Node("SkipSimplifiedLayerNormalization", {"x", "o", "g", "b"}, {"y"}))
      .Set("epsilon", 0.125F)
      .Output("y");
  CheckClose(Run(biased, {x}), wanted);
}

ModelBuilder Embedding(const Names& inputs, const std::string& output, int output_type) {
  using onnx::TensorProto;
  auto model = ModelBuilder(17)
                   .Input("ids", {2, 2}, TensorProto::INT32)
                   .Input("mask", {2, 2}, TensorProto::INT32)
                   .Floats("words", {3, 2}, UnorderedValues(6))
                   .Floats("places", {4, 2}, UnorderedValues(8, 1))
                   .Floats("kinds", {2, 2}, UnorderedValues(4, 2))
                   .Floats("g", {2})
                   .Floats("b", {2}, {0.5F, 0.25F});
  Microsoft(model.Node("EmbedLayerNormalization", inputs, {"y", "count", "sum"}));
  return model.Output(output, output_type);
}

TEST_CASE("EmbedLayerNormalization: rows are added; the mask is counted") {
  const Names inputs = {"ids", "mask", "words", "places", "kinds", "g", "b", "mask"};
  const Result<Graph> graph = Embedding(inputs, "sum", onnx::TensorProto::FLOAT).Import();
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const std::vector<int32_t> ids = {2, 0, 1, 1};
  const std::vector<int32_t> mask = {1, 1, 1, 0};
  const auto run = [&](const Graph& of) {
    test::Values values;
    for (size_t i = 0; i < 2; ++i) {
      const auto* bytes = reinterpret_cast<const std::byte*>(i == 0 ? ids.data() : mask.data());
      values[of.inputs()[i].tensor] = {bytes, bytes + 16};
    }
    const TensorId output = of.outputs()[0].tensor;
    const Status status = Evaluate(of, {output}, values);
    REQUIRE_MESSAGE(status.ok(), status.error().message);
    return values[output];
  };
  const Floats words = UnorderedValues(6);
  const Floats places = UnorderedValues(8, 1);
  const Floats kinds = UnorderedValues(4, 2);
  Floats wanted;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      wanted.push_back(words[static_cast<size_t>(ids[i]) * 2 + j] + places[i % 2 * 2 + j] +
                       kinds[static_cast<size_t>(mask[i]) * 2 + j]);
    }
  }
  const std::vector<std::byte> bytes = run(*graph);
  Floats got(8);
  REQUIRE(bytes.size() == 32);
  std::memcpy(got.data(), bytes.data(), 32);
  CheckClose(got, wanted);

  const Result<Graph> counted = Embedding(inputs, "count", onnx::TensorProto::INT32).Import();
  REQUIRE_MESSAGE(counted.ok(), counted.error().message);
  std::vector<int32_t> counts(2);
  const std::vector<std::byte> of_mask = run(*counted);
  REQUIRE(of_mask.size() == 8);
  std::memcpy(counts.data(), of_mask.data(), 8);
  CHECK(counts == std::vector<int32_t>{2, 1});
}

TEST_CASE("GroupNorm: groups of the last dimension, silu behind them") {
  const Floats x = UnorderedValues(8);  // [1, 1, 2, 4], two groups
  auto model = ModelBuilder(17)
                   .Input("x", {1, 1, 2, 4})
                   .Floats("g", {4})
                   .Floats("b", {4}, UnorderedValues(4, 1));
  Microsoft(model.Node("GroupNorm", {"x", "g", "b"}, {"y"}))
      .Set("groups", 2)
      .Set("activation", 1)
      .Set("epsilon", 0.125F)
      .Output("y");
  Floats wanted(8);
  const Floats bias = UnorderedValues(4, 1);
  for (size_t group = 0; group < 2; ++group) {
    const size_t at[] = {2 * group, 2 * group + 1, 2 * group + 4, 2 * group + 5};
    float mean = 0;
    float variance = 0;
    for (const size_t i : at) mean += x[i] / 4;
    for (const size_t i : at) variance += (x[i] - mean) * (x[i] - mean) / 4;
    for (const size_t i : at) {
      const float y = (x[i] - mean) / std::sqrt(variance + 0.125F) * static_cast<float>(i % 4 + 1) +
                      bias[i % 4];
      wanted[i] = y / (1 + std::exp(-y));
    }
  }
  CheckClose(Run(model, {x}), wanted);
}

TEST_CASE("FusedMatMul: factor and transposes, those of the batches too") {
  auto scaled = ModelBuilder(13).Input("x", {2, 3}).Floats("w", {2, 3});
  Microsoft(scaled.Node("FusedMatMul", {"x", "w"}, {"y"}))
      .Set("transB", 1)
      .Set("alpha", 2.0F)
      .Output("y");
  CHECK(scaled.Text() == R"(input %x: f32[2,3]
const %n/scaled: f32[2,3] = [2, 4, 6, 8, 10, 12]
%y: f32[2,2] = matmul(%x, %n/scaled) {transpose_b=1} "n"
output %y
)");

  auto batches =
      ModelBuilder(13).Input("x", {4, 2, 3}).Floats("w", {2, 3, 5}, UnorderedValues(30, 1));
  Microsoft(batches.Node("FusedMatMul", {"x", "w"}, {"y"})).Set("transBatchA", 1).Output("y");
  const auto plain = ModelBuilder(13)
                         .Input("x", {4, 2, 3})
                         .Floats("w", {2, 3, 5}, UnorderedValues(30, 1))
                         .Node("Transpose", {"x"}, {"t"})
                         .Set("perm", Dims{1, 0, 2})
                         .Node("MatMul", {"t", "w"}, {"y"}, "m")
                         .Output("y");
  CheckSame(batches, plain, {UnorderedValues(24)});
}

TEST_CASE("FusedGemm and FusedConv: the activation is the node that they name") {
  auto gemm = ModelBuilder(13).Input("x", {2, 3}).Floats("w", {3, 2}, UnorderedValues(6, 1));
  Microsoft(gemm.Node("FusedGemm", {"x", "w"}, {"y"}))
      .Set("activation", "LeakyRelu")
      .Set("activation_alpha", 0.25F)
      .Output("y");
  const auto plain_gemm = ModelBuilder(13)
                              .Input("x", {2, 3})
                              .Floats("w", {3, 2}, UnorderedValues(6, 1))
                              .Node("Gemm", {"x", "w"}, {"g"})
                              .Node("LeakyRelu", {"g"}, {"y"}, "a")
                              .Set("alpha", 0.25F)
                              .Output("y");
  CheckSame(gemm, plain_gemm, {UnorderedValues(6)});

  const auto conv = [](const char* activation, const Floats& parameters) {
    auto model = ModelBuilder(13)
                     .Input("x", {1, 1, 3, 3})
                     .Floats("w", {1, 1, 2, 2}, UnorderedValues(4, 1))
                     .Floats("b", {1}, {0.25F})
                     .Floats("z", {1, 1, 2, 2}, UnorderedValues(4, 2));
    Microsoft(model.Node("FusedConv", {"x", "w", "b", "z"}, {"y"}))
        .Set("activation", activation)
        .Set("activation_params", parameters);
    return model.Output("y");
  };
  const auto plain_conv = [] {
    return ModelBuilder(13)
        .Input("x", {1, 1, 3, 3})
        .Floats("w", {1, 1, 2, 2}, UnorderedValues(4, 1))
        .Floats("b", {1}, {0.25F})
        .Floats("z", {1, 1, 2, 2}, UnorderedValues(4, 2))
        .Node("Conv", {"x", "w", "b"}, {"c"})
        .Node("Add", {"c", "z"}, {"s"}, "s");
  };
  auto clip = plain_conv();
  clip.Floats("low", {}, {-0.5F}).Floats("high", {}, {0.5F});
  clip.Node("Clip", {"s", "low", "high"}, {"y"}, "a").Output("y");
  CheckSame(conv("Clip", {-0.5F, 0.5F}), clip, {UnorderedValues(9)});
  auto hard = plain_conv();
  hard.Node("HardSigmoid", {"s"}, {"y"}, "a").Set("alpha", 0.5F).Set("beta", 0.25F).Output("y");
  CheckSame(conv("HardSigmoid", {0.5F, 0.25F}), hard, {UnorderedValues(9)});
  CHECK(conv("Cosh", {}).Text() ==
        "error: node 'n' (FusedConv): activation 'Cosh' is not supported");
}

TEST_CASE("NhwcConv: Conv of an image whose channels come last") {
  auto model =
      ModelBuilder(13).Input("x", {1, 3, 3, 2}).Floats("w", {1, 2, 2, 2}, UnorderedValues(8, 1));
  Microsoft(model.Node("NhwcConv", {"x", "w"}, {"y"})).Output("y");
  const auto plain = ModelBuilder(13)
                         .Input("x", {1, 3, 3, 2})
                         .Floats("w", {1, 2, 2, 2}, UnorderedValues(8, 1))
                         .Node("Transpose", {"x"}, {"t"})
                         .Set("perm", Dims{0, 3, 1, 2})
                         .Node("Conv", {"t", "w"}, {"y"}, "c")
                         .Output("y");
  CheckSame(model, plain, {UnorderedValues(18)});
}

// Two rows of 3 numbers in blocks of 2: the last block of a row is half padding.
TEST_CASE("MatMulNBits: weights in blocks become floats") {
  const auto make = [](const Names& inputs) {
    auto model = ModelBuilder(13).Input("x", {1, 3}).Floats("s", {4}, {1, 2, 0.5F, 0.25F});
    AddBytes(model, "w", {2, 2, 1}, {0xA9, 0x08, 0x70, 0x0F});
    AddBytes(model, "z", {2, 1}, {0x19, 0x28});
    Microsoft(model.Node("MatMulNBits", inputs, {"y"}))
        .Set("K", 3)
        .Set("N", 2)
        .Set("bits", 4)
        .Set("block_size", 2);
    return model.Output("y");
  };
  const auto weights = [&](const Names& inputs) {
    const std::string text = make(inputs).Text();
    const size_t begin = text.find("const");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(weights({"x", "w", "s"}) == "const %n/weights: f32[2,3] = [1, 2, 0, -4, -0.5, 1.75]");
  CHECK(weights({"x", "w", "s", "z"}) == "const %n/weights: f32[2,3] = [0, 1, 14, -4, -0.5, 3.25]");
  CheckClose(Run(make({"x", "w", "s"}), {{1, 10, 100}}), {21, 166});
}

TEST_CASE("MatMulNBits: g_idx names the block whose scale and zero point a number has") {
  const auto make = [](const std::vector<int64_t>& groups, const char* zero) {
    auto model = ModelBuilder(13).Input("x", {1, 4}).Floats("s", {2}, {10, 100}).Ints("g", groups);
    AddBytes(model, "w", {1, 2, 1}, {0x98, 0xBA});
    AddBytes(model, "z", {1, 1}, {0x76});
    Microsoft(model.Node("MatMulNBits", {"x", "w", "s", zero, "g"}, {"y"}))
        .Set("K", 4)
        .Set("N", 1)
        .Set("bits", 4)
        .Set("block_size", 2);
    return model.Output("y");
  };
  CheckClose(Run(make({1, 0, 1, 0}, ""), {{1, 1, 1, 1}}), {240});
  CheckClose(Run(make({1, 0, 1, 0}, "z"), {{1, 1, 1, 1}}), {100 + 30 + 300 + 50});
  CHECK(make({1, 0, 2, 0}, "").Text() ==
        "error: node 'n' (MatMulNBits): its g_idx holds 2, but a row has 2 blocks");
}

TEST_CASE("SkipSimplifiedLayerNormalization: its mean, an output, is 0") {
  auto model = ModelBuilder(13).Input("x", {1, 2}).Floats("g", {2}, {1, 1});
  Microsoft(model.Node("SkipSimplifiedLayerNormalization", {"x", "x", "g"}, {"y", "m"}));
  CheckClose(Run(model.Output("m"), {{1, 2}}), {0});
}

TEST_CASE("Pad of com.microsoft: as ONNX's, its pads may be a row") {
  auto model = ModelBuilder(13).Input("x", {2}).Floats("v", {}, {7});
  onnx::TensorProto& pads = *model.graph().add_initializer();
  pads.set_name("p");
  pads.set_data_type(onnx::TensorProto::INT64);
  for (const int64_t dim : {1, 2}) pads.add_dims(dim);
  for (const int64_t pad : {1, 2}) pads.add_int64_data(pad);
  Microsoft(model.Node("Pad", {"x", "p", "v"}, {"y"}));
  CheckClose(Run(model.Output("y"), {{1, 2}}), {7, 1, 2, 7, 7});
}

TEST_CASE("NhwcMaxPool and NhwcFusedConv: channels stand last") {
  auto pool = ModelBuilder(13).Input("x", {1, 2, 2, 2}).Floats("s", {}, {1});
  AddBytes(pool, "z", {}, {0});
  pool.Node("QuantizeLinear", {"x", "s", "z"}, {"q"}, "a");
  Microsoft(pool.Node("NhwcMaxPool", {"q"}, {"p"}, "b"))
      .Set("kernel_shape", std::vector<int64_t>{2, 2});
  pool.Node("DequantizeLinear", {"p", "s", "z"}, {"y"}, "c").Output("y");
  CheckClose(Run(pool, {{1, 8, 2, 7, 3, 6, 4, 5}}), {4, 8});

  auto conv = ModelBuilder(13)
                  .Input("x", {1, 1, 2, 2})
                  .Floats("w", {1, 2, 1, 1}, {1, -1})
                  .Floats("z", {1, 1, 2, 1}, {1, 2});
  Microsoft(conv.Node("NhwcFusedConv", {"x", "w", "", "z"}, {"y"})).Set("activation", "Relu");
  CheckClose(Run(conv.Output("y"), {{5, 1, 1, 5}}), {5, 0});
}

TEST_CASE("Files that ONNX Runtime saved in the layout of one processor: what to do is said") {
  auto model =
      ModelBuilder(13).Input("x", {1, 8, 3, 3}).Floats("w", {8, 8, 1, 1}, UnorderedValues(64));
  model.Node("Conv", {"x", "w"}, {"y"}).Output("y");
  model.last().set_domain("com.microsoft.nchwc");
  const std::string text = model.Text();
  CHECK(text.find("save it with graph_optimization_level ORT_ENABLE_EXTENDED or lower") !=
        std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
