// Attention operators of com.microsoft with what exporters seldom write. Queries are 0 where the
// shares are those of the masks alone: equal ones of what a query sees.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/converter/import/onnx/ops/microsoft.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Dims = std::vector<int64_t>;
using Names = std::vector<std::string>;

/// Of one batch and head: three words whose values are 1, 2 and 6, without a past.
ModelBuilder Prompt(const Names& more = {}) {
  auto model = ModelBuilder(17)
                   .Input("q", {1, 3, 1})
                   .Floats("k", {1, 3, 1}, {1, 1, 1})
                   .Floats("v", {1, 3, 1}, {1, 2, 6});
  AddInts(model, "last", {1}, {2});
  AddInts(model, "total", {1}, {3});
  Names inputs = {"q", "k", "v", "", "", "last", "total"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  Microsoft(model.Node("GroupQueryAttention", inputs, {"y", "nk", "nv"}))
      .Set("num_heads", 1)
      .Set("kv_num_heads", 1);
  return model;
}

const Floats kZeros = {0, 0, 0};

TEST_CASE(
    "GroupQueryAttention: a query whose keys are all hidden gives 0, and sees no later ones") {
  const Floats bias = {-kInfinity, 0, 0, -kInfinity, -kInfinity, -kInfinity, 0, -kInfinity, 0};
  auto fixed = Prompt({"", "", "", "b"}).Floats("b", {1, 1, 3, 3}, bias).Output("y");
  CheckClose(Run(fixed, {kZeros}), {0, 0, 3.5F});
  auto given = Prompt({"", "", "", "b"}).Input("b", {1, 1, 3, 3}).Output("y");
  CheckClose(Run(given, {kZeros, bias}), {0, 0, 3.5F});
}

TEST_CASE("GroupQueryAttention: not a number in a bias stays so") {
  auto model = Prompt({"", "", "", "b"}).Input("b", {1, 1, 3, 3}).Output("y");
  const Floats y = Run(model, {kZeros, {0, 0, 0, std::nanf(""), 0, 0, 0, 0, 0}});
  CHECK(y[0] == 1.0F);
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 3.0F);
}

TEST_CASE("GroupQueryAttention: scores are capped before the bias") {
  auto model = Prompt({"", "", "", "b"})
                   .Set("softcap", 2.0F)
                   .Floats("b", {1, 1, 3, 3}, {0, 0, 0, 0, std::log(3.0F), 0, 0, 0, 0})
                   .Output("y");
  CheckClose(Run(model, {{1, 1, 1}}), {1, 1.75F, 3});  // equal keys have equal scores
  auto other = ModelBuilder(17)
                   .Input("q", {1, 2, 1})
                   .Floats("k", {1, 2, 1}, {0, 1})
                   .Floats("v", {1, 2, 1}, {0, 1});
  AddInts(other, "last", {1}, {1});
  AddInts(other, "total", {1}, {2});
  Microsoft(other.Node("GroupQueryAttention", {"q", "k", "v", "", "", "last", "total"},
                       {"y", "nk", "nv"}))
      .Set("num_heads", 1)
      .Set("kv_num_heads", 1)
      .Set("softcap", 2.0F)
      .Set("scale", 3.0F)
      .Output("y");
  const float share = 1 / (1 + std::exp(-2 * std::tanh(3.0F / 2)));
  CheckClose(Run(other, {{0, 1}}), {0, share});
}

TEST_CASE("GroupQueryAttention: one more score without a value, 0 or that of head_sink") {
  auto smooth = Prompt().Set("smooth_softmax", 1).Output("y");
  CheckClose(Run(smooth, {kZeros}), {0.5F, 1, 2.25F});
  auto sink = Prompt({"", "", "", "", "s"}).Floats("s", {1}, {std::log(2.0F)}).Output("y");
  CheckClose(Run(sink, {kZeros}), {1.0F / 3, 0.75F, 1.8F});
}

TEST_CASE("GroupQueryAttention: a bias as long as all words beside a longer buffer") {
  const auto make = [](const Dims& dims) {
    auto model = ModelBuilder(17)
                     .Input("q", {1, 1, 1})
                     .Floats("k", {1, 1, 1}, {1})
                     .Floats("v", {1, 1, 1}, {4})
                     .Floats("pk", {1, 1, 4, 1}, {1, 9, 9, 9})
                     .Floats("pv", {1, 1, 4, 1}, {8, 9, 9, 9})
                     .Floats("b", dims, Floats(static_cast<size_t>(dims[3]), std::log(3.0F)));
    AddInts(model, "last", {1}, {1});
    AddInts(model, "total", {1}, {2});
    Microsoft(model.Node("GroupQueryAttention",
                         {"q", "k", "v", "pk", "pv", "last", "total", "", "", "", "b"},
                         {"y", "nk", "nv"}))
        .Set("num_heads", 1)
        .Set("kv_num_heads", 1);
    return model.Output("y");
  };
  CheckClose(Run(make({1, 1, 1, 2}), {{0}}), {6});
  CHECK(make({1, 1, 1, 3}).Text() ==
        "error: node 'n' (GroupQueryAttention): its attention_bias has shape 1x1x1x3, [B or 1, "
        "heads or 1, 1, 2] is wanted");
}

TEST_CASE("GroupQueryAttention: places of last words that cannot be are said") {
  auto model = Prompt().Output("y");
  model.graph().mutable_initializer(2)->set_int32_data(0, -1);
  CHECK(model.Text() ==
        "error: node 'n' (GroupQueryAttention): its seqlens_k holds -1, 0 to 2 are possible");
}

/// Runs a model whose inputs are f32 but for the last one, some i32; what it says where it fails.
std::string RunWith(const ModelBuilder& model, const std::vector<Floats>& inputs,
                    const std::vector<int32_t>& last) {
  const Result<Graph> graph = model.Import();
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph->inputs()[i].tensor] = Bytes(inputs[i]);
  }
  std::vector<std::byte>& bytes = values[graph->inputs().back().tensor];
  bytes.resize(last.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), last.data(), bytes.size());
  const TensorId output = graph->outputs()[0].tensor;
  const Status status = Evaluate(*graph, {output}, values);
  if (!status.ok()) return status.error().message;
  Floats y(values[output].size() / sizeof(float));
  std::memcpy(y.data(), values[output].data(), values[output].size());
  return fmt::format("{:.3g}", fmt::join(y, " "));
}

/// Prompt() with places of last words, and what they let its words see, given when it runs.
ModelBuilder GivenLastPlaces() {
  auto model = ModelBuilder(17)
                   .Input("q", {1, 3, 1})
                   .Floats("k", {1, 3, 1}, {1, 1, 1})
                   .Floats("v", {1, 3, 1}, {1, 2, 6})
                   .Input("last", {1}, onnx::TensorProto::INT32);
  AddInts(model, "total", {1}, {3});
  Microsoft(model.Node("GroupQueryAttention", {"q", "k", "v", "", "", "last", "total"}, {"y"}))
      .Set("num_heads", 1)
      .Set("kv_num_heads", 1);
  return model.Output("y");
}

TEST_CASE("GroupQueryAttention: words behind the last place of a prompt look no further than it") {
  CHECK(RunWith(GivenLastPlaces(), {kZeros}, {2}) == "1 1.5 3");
  CHECK(RunWith(GivenLastPlaces(), {kZeros}, {1}) == "1 1.5 1.5");
  CHECK(RunWith(GivenLastPlaces().Set("local_window_size", 1), {kZeros}, {1}) == "1 2 0");
}

TEST_CASE("GroupQueryAttention: last places out of range are said when it runs") {
  for (const int32_t last : {-1, 3, INT32_MIN, INT32_MAX}) {
    CHECK(RunWith(GivenLastPlaces(), {kZeros}, {last}).find("is outside a dimension of 3") !=
          std::string::npos);
  }
  auto model = ModelBuilder(17)
                   .Input("q", {1, 1, 1})
                   .Floats("k", {1, 1, 1}, {1})
                   .Floats("v", {1, 1, 1}, {4})
                   .Floats("pk", {1, 1, 3, 1}, {1, 1, 1})
                   .Floats("pv", {1, 1, 3, 1}, {1, 2, 6})
                   .Input("last", {1}, onnx::TensorProto::INT32);
  AddInts(model, "total", {1}, {3});
  Microsoft(model.Node("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "total"}, {"y"}))
      .Set("num_heads", 1)
      .Set("kv_num_heads", 1)
      .Output("y");
  CHECK(RunWith(model, {{0}}, {1}) == "2.5");  // of 1 and 4
  for (const int32_t last : {-1, 3, INT32_MIN, INT32_MAX}) {
    CHECK(RunWith(model, {{0}}, {last}).find("is outside a dimension of 3") != std::string::npos);
  }
}

/// Attention of two words with the values 2 and 4, and scores 0.
ModelBuilder Words(const Dims& dims, const std::vector<int32_t>& mask) {
  auto model = ModelBuilder(17)
                   .Input("x", {1, 2, 1})
                   .Floats("w", {1, 3}, {0, 0, 1})
                   .Floats("b", {3}, {0, 0, 0});
  AddInts(model, "m", dims, mask);
  Microsoft(model.Node("Attention", {"x", "w", "b", "m"}, {"y"})).Set("num_heads", 1);
  return model.Output("y");
}

TEST_CASE("Attention: masks of one column hide nothing, and behind lengths more may stand") {
  CheckClose(Run(Words({1, 1}, {0}), {{2, 4}}), {3, 3});
  CheckClose(Run(Words({5}, {1, 0, 2, 0, 1}), {{2, 4}}), {2, 2});
  CHECK(Words({1}, {-1}).Text() == "error: node 'n' (Attention): its mask holds the length -1");
}

TEST_CASE("Attention: lengths below 0 are said when it runs, starts may be what they like") {
  auto model = ModelBuilder(17)
                   .Input("x", {1, 2, 1})
                   .Floats("w", {1, 3}, {0, 0, 1})
                   .Floats("b", {3}, {0, 0, 0})
                   .Input("m", {2}, onnx::TensorProto::INT32);
  Microsoft(model.Node("Attention", {"x", "w", "b", "m"}, {"y"})).Set("num_heads", 1).Output("y");
  CHECK(RunWith(model, {{2, 4}}, {1, -5}) == "2 2");
  CHECK(RunWith(model, {{2, 4}}, {INT32_MAX, 1}) == "4 4");
  for (const int32_t length : {-1, INT32_MIN}) {
    CHECK(RunWith(model, {{2, 4}}, {length, 0}).find("is outside") != std::string::npos);
  }
  CheckClose(Run(Words({2}, {2, -1}), {{2, 4}}), {3, 3});
}

TEST_CASE("Attention: of a mask for all words there may be, the rows of the last words count") {
  auto model = ModelBuilder(17)
                   .Input("x", {1, 2, 1})
                   .Floats("w", {1, 3}, {0, 0, 1})
                   .Floats("b", {3}, {0, 0, 0})
                   .Floats("past", {2, 1, 1, 1, 1}, {0, 9});
  AddInts(model, "m", {1, 1, 4, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1});
  Microsoft(model.Node("Attention", {"x", "w", "b", "m", "past"}, {"y"}))
      .Set("num_heads", 1)
      .Output("y");
  CheckClose(Run(model, {{2, 4}}), {9, 3});
}

TEST_CASE("MultiHeadAttention: of a bias beside keys by head, the part of the queries counts") {
  auto model = ModelBuilder(17)
                   .Input("q", {1, 1, 1})
                   .Floats("k", {1, 1, 2, 1}, {0, 1})
                   .Floats("v", {1, 1, 2, 1}, {2, 4})
                   .Floats("b", {3}, {-5, 7, 9});
  Microsoft(model.Node("MultiHeadAttention", {"q", "k", "v", "b"}, {"y"})).Set("num_heads", 1);
  CheckClose(Run(model.Output("y"), {{5}}), {3});
}

TEST_CASE("MultiHeadAttention: with fewer keys than queries, late queries see all of them") {
  auto model = ModelBuilder(17)
                   .Input("q", {1, 3, 1})
                   .Floats("k", {1, 2, 1}, {0, 0})
                   .Floats("v", {1, 2, 1}, {2, 4});
  Microsoft(model.Node("MultiHeadAttention", {"q", "k", "v"}, {"y"}))
      .Set("num_heads", 1)
      .Set("unidirectional", 1);
  CheckClose(Run(model.Output("y"), {kZeros}), {2, 3, 3});
}

TEST_CASE("RotaryEmbedding: its scale counts for nothing, and positions below 0 are said") {
  const auto make = [](int64_t position) {
    auto model = ModelBuilder(17)
                     .Input("x", {1, 1, 2})
                     .Floats("c", {2, 1}, {1, 0})
                     .Floats("s", {2, 1}, {0, 1})
                     .Ints("p", {position});
    Microsoft(model.Node("RotaryEmbedding", {"x", "p", "c", "s"}, {"y"})).Set("scale", 0.5F);
    return model.Output("y");
  };
  CheckClose(Run(make(1), {{3, 4}}), {-4, 3});
  CHECK(make(-1).Text() == "error: node 'n' (RotaryEmbedding): its position_ids hold -1");
}

}  // namespace
}  // namespace tenon::converter::test
