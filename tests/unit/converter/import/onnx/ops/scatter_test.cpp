// ScatterElements, ScatterND and MaxUnpool: what they compute, and what they refuse.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// Rows 2 and 0 of [3, 2], then row 2 again, get the updates [[10, 20], [30, 40], [50, 60]].
ModelBuilder Rows(const char* reduction) {
  auto model =
      ModelBuilder(18).Input("x", {3, 2}).Floats("updates", {3, 2}, {10, 20, 30, 40, 50, 60});
  model.Ints("places", {2, 0, 2});
  onnx::TensorProto& places = *model.graph().mutable_initializer()->rbegin();
  places.add_dims(1);
  return model.Node("ScatterND", {"x", "places", "updates"}, {"y"})
      .Set("reduction", reduction)
      .Output("y");
}

TEST_CASE("ScatterND: of several updates of one row the last one counts, or all are joined") {
  const Floats x = {1, 2, 3, 4, 5, 6};
  CHECK(Run(Rows("none"), {x}) == Floats{30, 40, 3, 4, 50, 60});
  CHECK(Run(Rows("add"), {x}) == Floats{31, 42, 3, 4, 65, 86});
  CHECK(Run(Rows("mul"), {x}) == Floats{30, 80, 3, 4, 2500, 7200});
  CHECK(Run(Rows("max"), {x}) == Floats{30, 40, 3, 4, 50, 60});
  CHECK(Run(Rows("min"), {x}) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(Rows("xor").Text() == "error: node 'n' (ScatterND): reduction 'xor' is not known");
}

TEST_CASE("ScatterElements: places along an axis that are computed when the plan runs") {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    auto model = ModelBuilder(18).Input("x", {2, 2}).Floats("updates", {2, 1}, {10, -20});
    model.Node("ArgMax", {"x"}, {"places"}, "m").Set("axis", 1);
    model.Node("ScatterElements", {"x", "places", "updates"}, {"y"})
        .Set("axis", 1)
        .Set("reduction", reduction)
        .Output("y");
    const Floats found = Run(model, {{1, 2, 4, 3}});
    CAPTURE(reduction);
    const std::string name = reduction;
    CHECK(found == (name == "none"  ? Floats{1, 10, -20, 3}
                    : name == "add" ? Floats{1, 12, -16, 3}
                    : name == "mul" ? Floats{1, 20, -80, 3}
                    : name == "max" ? Floats{1, 10, 4, 3}
                                    : Floats{1, 2, -20, 3}));
  }
}

TEST_CASE("ScatterElements: no updates change nothing, too few are refused") {
  auto none = ModelBuilder(18).Input("x", {2}).Floats("updates", {0}).Ints("places", {});
  none.Node("ScatterElements", {"x", "places", "updates"}, {"y"}).Output("y");
  CHECK(Run(none, {{1, 2}}) == Floats{1, 2});
  auto few = ModelBuilder(18).Input("x", {2}).Floats("updates", {1}).Ints("places", {0, 1});
  few.Node("ScatterElements", {"x", "places", "updates"}, {"y"}).Output("y");
  CHECK(few.Text() ==
        "error: node 'n' (ScatterElements): its updates have 1 elements for 2 indices");
}

ModelBuilder Unpool(const std::vector<int64_t>& strides, const std::vector<int64_t>& sizes) {
  auto model = ModelBuilder(11).Input("x", {1, 1, 1, 4});
  model.Node("MaxPool", {"x"}, {"p", "places"}, "m")
      .Set("kernel_shape", std::vector<int64_t>{1, 2})
      .Set("strides", std::vector<int64_t>{1, 2});
  std::vector<std::string> inputs = {"p", "places"};
  if (!sizes.empty()) {
    model.Ints("sizes", sizes);
    inputs.emplace_back("sizes");
  }
  return model.Node("MaxUnpool", inputs, {"y"})
      .Set("kernel_shape", std::vector<int64_t>{1, 2})
      .Set("strides", strides)
      .Output("y");
}

TEST_CASE("MaxUnpool: elements go back to where they were, in an output that may be larger") {
  CHECK(Run(Unpool({1, 2}, {}), {{1, 5, 7, 3}}) == Floats{0, 5, 7, 0});
  CHECK(Run(Unpool({1, 2}, {1, 1, 1, 6}), {{1, 5, 7, 3}}) == Floats{0, 5, 7, 0, 0, 0});
}

TEST_CASE("MaxUnpool: windows and sizes out of range are refused") {
  const std::string n = "error: node 'n' (MaxUnpool): ";
  CHECK(Unpool({1, 2}, {1, 1}).Text() == n + "output_shape has 2 numbers");
  CHECK(Unpool({1, 2}, {1, 1, 1, 3}).Text() == n + "output_shape is smaller than what was pooled");
  CHECK(Unpool({2}, {}).Text() == n + "its window does not fit an input of rank 4");
  CHECK(Unpool({1, 2}, {1, 1, 1, (int64_t{1} << 32) + 4}).Text() ==
        n + "dimension 3 is 4294967300, out of range");
  CHECK(Unpool({1, (int64_t{1} << 32) + 2}, {}).Text() ==
        n + "4294967298 in its window is out of range");
}

TEST_CASE("TensorScatter: rows go behind those of each batch, in a circle or not at all") {
  const auto make = [](const char* mode, const std::vector<int64_t>& begins) {
    return ModelBuilder(24)
        .Input("x", {2, 3, 1})
        .Floats("u", {2, 2, 1}, {10, 20, 30, 40})
        .Ints("w", begins)
        .Node("TensorScatter", {"x", "u", "w"}, {"y"})
        .Set("mode", mode)
        .Output("y");
  };
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  CheckClose(Run(make("linear", {0, 1}), {x}), {10, 20, 3, 4, 30, 40});
  CheckClose(Run(make("circular", {2, 4}), {x}), {20, 2, 10, 4, 30, 40});
  CHECK(make("linear", {0, 2}).Text() ==
        "error: node 'n' (TensorScatter): its write_indices hold 2, 0 to 1 are possible");
  CHECK(make("circular", {-1, 0}).Text().find("write_indices") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
