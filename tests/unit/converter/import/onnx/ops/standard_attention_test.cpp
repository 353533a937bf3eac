// Attention, RotaryEmbedding and RMSNormalization of ONNX's operator set 23. Queries are 0 where
// the shares are those of the masks alone: equal ones of what a query sees.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Names = std::vector<std::string>;

/// Two queries of 0 and three keys whose values are 1, 2 and 6.
ModelBuilder Words(const Names& more = {}, const Names& outputs = {"y"}, int opset = 23) {
  auto model = ModelBuilder(opset)
                   .Input("q", {1, 1, 2, 1})
                   .Floats("k", {1, 1, 3, 1}, {1, 1, 1})
                   .Floats("v", {1, 1, 3, 1}, {1, 2, 6});
  Names inputs = {"q", "k", "v"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return model.Node("Attention", inputs, outputs);
}

TEST_CASE("ONNX Attention: all keys, or those up to a query's own") {
  CheckClose(Run(Words().Output("y"), {{0, 0}}), {3, 3});
  CheckClose(Run(Words().Set("is_causal", 1).Output("y"), {{0, 0}}), {1, 1.5F});
}

TEST_CASE("ONNX Attention: a query that a mask lets see nothing gives 0") {
  const Floats mask = {0, -kInfinity, -kInfinity, -kInfinity, -kInfinity, 0};
  const auto make = [] { return Words({"m"}).Input("m", {2, 3}); };
  CheckClose(Run(make().Output("y"), {{0, 0}, mask}), {1, 6});
  CheckClose(Run(make().Set("is_causal", 1).Output("y"), {{0, 0}, mask}), {1, 0});
  auto fixed = Words({"m"}).Floats("m", {2, 3}, mask).Set("is_causal", 1).Output("y");
  CheckClose(Run(fixed, {{0, 0}}), {1, 0});
}

TEST_CASE("ONNX Attention: heads side by side, of which two share keys, behind a past") {
  const auto make = [](const char* output) {
    return ModelBuilder(23)
        .Input("q", {1, 1, 2})
        .Floats("k", {1, 1, 1}, {1})
        .Floats("v", {1, 1, 1}, {4})
        .Floats("pk", {1, 1, 1, 1}, {0})
        .Floats("pv", {1, 1, 1, 1}, {2})
        .Node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv"})
        .Set("q_num_heads", 2)
        .Set("kv_num_heads", 1)
        .Set("is_causal", 1)
        .Output(output);
  };
  CheckClose(Run(make("y"), {{0, std::log(3.0F)}}), {3, 3.5F});
  CheckClose(Run(make("nv"), {{0, 0}}), {2, 4});
}

TEST_CASE("ONNX Attention: a mask that does not fit is said, with both shapes") {
  CHECK(Words({"m"}).Floats("m", {2, 2}).Output("y").Text() ==
        "error: node 'n' (Attention): its attn_mask has shape 2x2, one that ends in 2, 3 is "
        "wanted");
}

TEST_CASE("ONNX Attention: keys behind those that count are hidden, and causal from them back") {
  const auto make = [](int64_t length) {
    return Words({"", "", "", "l"}, {"y"}, 24).Ints("l", {length});
  };
  CheckClose(Run(make(2).Output("y"), {{0, 0}}), {1.5F, 1.5F});
  CheckClose(Run(make(2).Set("is_causal", 1).Output("y"), {{0, 0}}), {1, 1.5F});
  CheckClose(Run(make(1).Set("is_causal", 1).Output("y"), {{0, 0}}), {0, 1});
  CHECK(make(4).Output("y").Text() ==
        "error: node 'n' (Attention): its nonpad_kv_seqlen hold 4, 0 to 3 are possible");
}

TEST_CASE("ONNX Attention: windows, and masks that are shorter than the keys") {
  CheckClose(Run(Words({}, {"y"}, 25).Set("left_window_size", 0).Output("y"), {{0, 0}}), {3, 4});
  CheckClose(Run(Words({}, {"y"}, 25).Set("right_window_size", 0).Output("y"), {{0, 0}}),
             {1, 1.5F});
  auto shorter = Words({"m"}, {"y"}, 24).Floats("m", {2, 2}, {0, 0, -kInfinity, 0}).Output("y");
  CheckClose(Run(shorter, {{0, 0}}), {1.5F, 2});
}

TEST_CASE("ONNX Attention: its scores as an output, at four places") {
  const auto run = [](int64_t mode) {
    auto model = Words({"m"}, {"y", "", "", "z"})
                     .Floats("m", {2, 3}, {0, -kInfinity, -kInfinity, 0, 0, 0})
                     .Set("softcap", 1.0F)
                     .Set("scale", 2.0F)
                     .Set("qk_matmul_output_mode", mode);
    return Run(model.Output("z"), {{1, 0}});
  };
  const float capped = std::tanh(2.0F);
  CheckClose(run(0), {2, 2, 2, 0, 0, 0});
  CheckClose(run(1), {capped, capped, capped, 0, 0, 0});
  CHECK(run(2)[0] == doctest::Approx(capped));
  CHECK(run(2)[1] == -kInfinity);
  CheckClose(run(3), {1, 0, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
}

TEST_CASE("ONNX RotaryEmbedding: by positions, or a row of the caches for each word") {
  auto placed = ModelBuilder(23)
                    .Input("x", {1, 1, 1, 2})
                    .Floats("c", {2, 1}, {1, 0})
                    .Floats("s", {2, 1}, {0, 1});
  onnx::TensorProto& positions = *placed.graph().add_initializer();
  positions.set_name("p");
  positions.set_data_type(onnx::TensorProto::INT64);
  for (int i = 0; i < 2; ++i) positions.add_dims(1);
  positions.add_int64_data(1);
  placed.Node("RotaryEmbedding", {"x", "c", "s", "p"}, {"y"}).Output("y");
  CheckClose(Run(placed, {{3, 4}}), {-4, 3});
  auto rows = ModelBuilder(23)
                  .Input("x", {1, 2, 2})
                  .Floats("c", {1, 2, 1}, {1, 0})
                  .Floats("s", {1, 2, 1}, {0, 1})
                  .Node("RotaryEmbedding", {"x", "c", "s"}, {"y"})
                  .Set("num_heads", 1)
                  .Output("y");
  CheckClose(Run(rows, {{3, 4, 3, 4}}), {3, 4, -4, 3});
}

TEST_CASE("RMSNormalization: by the root of the mean of squares, from an axis on") {
  auto model = ModelBuilder(23)
                   .Input("x", {1, 2, 1})
                   .Floats("s", {2, 1}, {1, 2})
                   .Node("RMSNormalization", {"x", "s"}, {"y"})
                   .Set("axis", 1)
                   .Set("epsilon", 0.0F)
                   .Output("y");
  CheckClose(Run(model, {{1, 7}}), {0.2F, 2.8F});
}

}  // namespace
}  // namespace tenon::converter::test
