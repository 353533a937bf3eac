// What is chosen by value, and what is put where indices say that are known at run time only.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

TEST_CASE("TopK: values and indices along an axis, the smallest too") {
  for (const int64_t largest : {1, 0}) {
    const auto model = [&](const char* output, int type) {
      return ModelBuilder(11)
          .Input("x", {2, 4})
          .Ints("k", {2})
          .Node("TopK", {"x", "k"}, {"values", "indices"})
          .Set("axis", -1)
          .Set("largest", largest)
          .Output(output, type);
    };
    const std::vector<float> x = {3, 1, 3, 2, -1, -4, -2, -3};
    CheckClose(Run(model("values", onnx::TensorProto::FLOAT), {x}),
               largest == 1 ? std::vector<float>{3, 3, -1, -2} : std::vector<float>{1, 2, -4, -3});
    CHECK(Run<int64_t>(model("indices", onnx::TensorProto::INT64), {x}) ==
          (largest == 1 ? std::vector<int64_t>{0, 2, 0, 2} : std::vector<int64_t>{1, 3, 1, 3}));
  }
}

TEST_CASE("TopK: of none is empty") {
  const auto model = ModelBuilder(11)
                         .Input("x", {2, 3})
                         .Ints("k", {0})
                         .Node("TopK", {"x", "k"}, {"values", "indices"})
                         .Output("values");
  CHECK(Run(model, {{1, 5, 2, 3, 4, 6}}).empty());
  CHECK(model.Import()->tensor(model.Import()->outputs()[0].tensor).shape == Shape({2, 0}));
}

TEST_CASE("NonMaxSuppression: without a number of boxes takes none") {
  const auto model = ModelBuilder(11)
                         .Input("boxes", {1, 2, 4})
                         .Input("scores", {1, 1, 2})
                         .Node("NonMaxSuppression", {"boxes", "scores"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);
  const auto graph = model.Import();
  REQUIRE(graph.ok());
  CHECK(graph->tensor(graph->outputs()[0].tensor).shape == Shape({0, 3}));
}

TEST_CASE("ReverseSequence: of length 0 leaves the sequence as it is") {
  const auto model = ModelBuilder(13)
                         .Input("x", {3, 2})
                         .Ints("lengths", {0, 2})
                         .Node("ReverseSequence", {"x", "lengths"}, {"y"})
                         .Output("y");
  CheckClose(Run(model, {{0, 1, 2, 3, 4, 5}}), {0, 3, 2, 1, 4, 5});
}

TEST_CASE("TopK: before opset 10 the number is an attribute") {
  const auto model = ModelBuilder(9)
                         .Input("x", {3})
                         .Node("TopK", {"x"}, {"values", "indices"})
                         .Set("axis", 0)
                         .Set("k", 1)
                         .Output("values");
  CheckClose(Run(model, {{1, 5, 2}}), {5});
}

TEST_CASE("ScatterND and ScatterElements: indices of run time, some twice, some from the end") {
  const auto model = [](const char* op) {
    return ModelBuilder(16)
        .Input("x", {3})
        .Input("i", {3, 1})
        .Input("u", {3})
        .Node("Cast", {"i"}, {"j"}, "c")
        .Set("to", onnx::TensorProto::INT64)
        .Node(op, {"x", "j", "u"}, {"y"}, "s")
        .Set("reduction", "add")
        .Output("y");
  };
  CheckClose(Run(model("ScatterND"), {{1, 2, 3}, {2, -3, 2}, {10, 20, 30}}), {21, 2, 43});
  const auto elements = ModelBuilder(16)
                            .Input("x", {2, 2})
                            .Input("i", {1, 2})
                            .Input("u", {1, 2})
                            .Node("Cast", {"i"}, {"j"}, "c")
                            .Set("to", onnx::TensorProto::INT64)
                            .Node("ScatterElements", {"x", "j", "u"}, {"y"}, "s")
                            .Set("axis", 0)
                            .Output("y");
  CheckClose(Run(elements, {{1, 2, 3, 4}, {1, 0}, {8, 9}}), {1, 9, 8, 4});
}

TEST_CASE("ScatterElements and GatherElements: indices expanded over rows take whole rows") {
  const auto model = [](const char* op, const std::vector<std::string>& inputs, int columns) {
    auto made = ModelBuilder(18)
                    .Input("x", {3, 2})
                    .Input("i", {2, 1})
                    .Input("u", {2, columns})
                    .Ints("shape", {2, columns})
                    .Node("Cast", {"i"}, {"c"}, "c")
                    .Set("to", onnx::TensorProto::INT64)
                    .Node("Expand", {"c", "shape"}, {"j"}, "e")
                    .Node(op, inputs, {"y"}, "s");
    return made;
  };
  const Floats x = {1, 2, 3, 4, 5, 6};
  auto add = model("ScatterElements", {"x", "j", "u"}, 2).Set("reduction", "add").Output("y");
  CHECK(add.Text().find("scatter(%x, ") != std::string::npos);  // not of single elements
  CheckClose(Run(add, {x, {2, -1}, {10, 20, 30, 40}}), {1, 2, 3, 4, 45, 66});
  CheckClose(Run(add, {x, {0, 1}, {10, 20, 30, 40}}), {11, 22, 33, 44, 5, 6});
  auto part = model("ScatterElements", {"x", "j", "u"}, 1).Set("reduction", "add").Output("y");
  CheckClose(Run(part, {x, {2, 0}, {10, 20}}), {21, 2, 3, 4, 15, 6});
  auto gather = model("GatherElements", {"x", "j"}, 2).Output("y");
  CHECK(gather.Text().find("gather(%x, ") != std::string::npos);
  CheckClose(Run(gather, {x, {2, -3}, {}}), {5, 6, 1, 2});
}

TEST_CASE(
    "ScatterElements and GatherElements: rows behind dimensions of one, as of a set of points") {
  const auto model = [](const char* op, const std::vector<std::string>& inputs) {
    return ModelBuilder(18)
        .Input("x", {1, 3, 2})
        .Input("i", {1, 2, 1})
        .Input("u", {1, 2, 2})
        .Ints("shape", {1, 2, 2})
        .Node("Cast", {"i"}, {"c"}, "c")
        .Set("to", onnx::TensorProto::INT64)
        .Node("Expand", {"c", "shape"}, {"j"}, "e")
        .Node(op, inputs, {"y"}, "s")
        .Set("axis", 1);
  };
  const Floats x = {1, 2, 3, 4, 5, 6};
  auto add = model("ScatterElements", {"x", "j", "u"}).Set("reduction", "add").Output("y");
  CheckClose(Run(add, {x, {2, -2}, {10, 20, 30, 40}}), {1, 2, 33, 44, 15, 26});
  auto gather = model("GatherElements", {"x", "j"}).Output("y");
  CHECK(gather.Text().find("gather(%x, ") != std::string::npos);
  CheckClose(Run(gather, {x, {2, -3}, {}}), {5, 6, 1, 2});
}

TEST_CASE("NonMaxSuppression: as many rows as could be taken; those that are not are -1") {
  const auto model = ModelBuilder(11)
                         .Input("boxes", {1, 3, 4})
                         .Input("scores", {1, 1, 3})
                         .Ints("most", {3})
                         .Floats("overlap", {1}, {0.3F})
                         .Node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);
  CHECK(Run<int64_t>(model, {{0, 0, 2, 2, 1, 0, 3, 2, 10, 10, 12, 12}, {0.5F, 0.9F, 0.7F}}) ==
        std::vector<int64_t>{0, 0, 1, 0, 0, 2, -1, -1, -1});
}

TEST_CASE("MaxPool: its indices lead MaxUnpool back, into a larger output too") {
  auto model = ModelBuilder(11)
                   .Input("x", {1, 1, 2, 4})
                   .Node("MaxPool", {"x"}, {"p", "i"}, "pool")
                   .Set("kernel_shape", std::vector<int64_t>{2, 2})
                   .Set("strides", std::vector<int64_t>{2, 2})
                   .Ints("size", {1, 1, 3, 4})
                   .Node("MaxUnpool", {"p", "i", "size"}, {"y"}, "unpool")
                   .Set("kernel_shape", std::vector<int64_t>{2, 2})
                   .Set("strides", std::vector<int64_t>{2, 2})
                   .Output("y");
  CheckClose(Run(model, {{1, 7, 2, 0, 3, 4, 9, 9}}), {0, 7, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0});
}

TEST_CASE("TopK and ArgMax: of integers that kernels do not order, by wider ones") {
  for (const int type : {onnx::TensorProto::INT16, onnx::TensorProto::UINT32}) {
    const auto make = [&](const char* op, const std::vector<std::string>& inputs) {
      auto model = ModelBuilder(13).Input("x", {4}).Ints("k", {2});
      model.Node("Cast", {"x"}, {"c"}, "cast").Set("to", type);
      model.Node(op, inputs, {"v", "i"});
      if (inputs.size() == 1) model.last().mutable_output()->RemoveLast();
      return model;
    };
    const std::vector<float> x = {3, 9, 1, 7};
    CHECK(Run<int64_t>(make("TopK", {"c", "k"}).Output("i", onnx::TensorProto::INT64), {x}) ==
          std::vector<int64_t>{1, 3});
    CHECK(Run<int64_t>(make("ArgMax", {"c"}).Output("v", onnx::TensorProto::INT64), {x}) ==
          std::vector<int64_t>{1});
  }
}

}  // namespace
}  // namespace tenon::converter::test
