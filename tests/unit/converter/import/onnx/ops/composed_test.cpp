// Operators that are put together from others: what they compute, and what they refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// Checks a function of each number against the same in double precision, to six digits of every
/// one, however small.
void CheckFunction(const char* op, double (*function)(double), const Floats& x) {
  CAPTURE(op);
  const auto model = ModelBuilder(13)
                         .Input("x", {static_cast<int64_t>(x.size())})
                         .Node(op, {"x"}, {"y"})
                         .Output("y");
  const auto y = Run(model, {x});
  REQUIRE(y.size() == x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    const double wanted = function(static_cast<double>(x[i]));
    CHECK(static_cast<double>(y[i]) == doctest::Approx(wanted).epsilon(2e-6).scale(0));
  }
}

}  // namespace

TEST_CASE("Hyperbolic functions and their inverses: six digits of small and large numbers") {
  const Floats any = {1e-30F, 1e-8F, -1e-5F, 1e-3F, 0.3F, -0.99F, 1.01F, 5.0F, -20.0F};
  CheckFunction("Sinh", std::sinh, any);
  CheckFunction("Cosh", std::cosh, any);
  CheckFunction("Asinh", std::asinh, any);
  CheckFunction("Sinh", std::sinh, {88.9F, -89.3F});
  CheckFunction("Cosh", std::cosh, {88.9F, -89.3F});
  CheckFunction("Asinh", std::asinh, {1e9F, -2e19F, 1e30F});
  CheckFunction("Atanh", std::atanh, {1e-30F, -1e-8F, 1e-5F, 1e-3F, -0.5F, 0.99999F, -0.99999F});
  CheckFunction("Acosh", std::acosh, {1.0001F, 1.5F, 10.0F, 2e9F, 2e19F, 3e38F});
}

TEST_CASE("Hyperbolic functions and their inverses: at the ends of where they are defined") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto at = [](const char* op, float x) {
    return Run(ModelBuilder(13).Input("x", {1}).Node(op, {"x"}, {"y"}).Output("y"), {{x}})[0];
  };
  CHECK(at("Atanh", 1.0F) == infinity);
  CHECK(at("Atanh", -1.0F) == -infinity);
  CHECK(std::isnan(at("Atanh", 1.5F)));
  CHECK(at("Acosh", 1.0F) == 0.0F);
  CHECK(std::isnan(at("Acosh", 0.5F)));
  CHECK(at("Acosh", infinity) == infinity);
  CHECK(at("Asinh", -infinity) == -infinity);
  CHECK(at("Sinh", -infinity) == -infinity);
  CHECK(at("Cosh", -infinity) == infinity);
  for (const char* op : {"Sinh", "Asinh", "Atanh"}) CHECK(at(op, 0.0F) == 0.0F);
  for (const char* op : {"Sinh", "Cosh", "Asinh", "Atanh", "Acosh"}) {
    CAPTURE(op);
    CHECK(std::isnan(at(op, std::nanf(""))));
  }
}

TEST_CASE("LpNormalization: zeros stay zeros") {
  for (const int64_t p : {1, 2}) {
    const auto model = ModelBuilder(13)
                           .Input("x", {2, 2})
                           .Node("LpNormalization", {"x"}, {"y"})
                           .Set("p", p)
                           .Output("y");
    CheckClose(Run(model, {{0, 0, 0, 5}}), {0, 0, 0, 1});
  }
}

TEST_CASE("ConvTranspose: spreads every element over a window, with strides and padding") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 3})
                         .Floats("w", {1, 1, 3}, {1, 10, 100})
                         .Node("ConvTranspose", {"x", "w"}, {"y"})
                         .Set("strides", std::vector<int64_t>{2})
                         .Set("pads", std::vector<int64_t>{1, 0})
                         .Output("y");
  // All: 1 10 100+2 20 200+3 30 300; the first is cut off.
  CheckClose(Run(model, {{1, 2, 3}}), {10, 102, 20, 203, 30, 300});
}

TEST_CASE("ConvTranspose: of volumes adds up what each tap of the depth gives") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 2, 1, 2})
                         .Floats("w", {1, 1, 3, 1, 2}, {1, 2, 10, 20, 100, 200})
                         .Node("ConvTranspose", {"x", "w"}, {"y"})
                         .Set("strides", std::vector<int64_t>{2, 1, 1})
                         .Output("y");
  // Depths 0, 1, 2, 3 and 4: the third tap of the first element meets the first of the second.
  CheckClose(Run(model, {{1, 2, 3, 4}}),
             {1, 4, 4, 10, 40, 40, 103, 410, 408, 30, 100, 80, 300, 1000, 800});
}

TEST_CASE("ConvTranspose: of volumes with more phases than could be planned is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 1, 1, 1})
                         .Floats("w", {1, 1, 1, 1, 1}, {1})
                         .Node("ConvTranspose", {"x", "w"}, {"y"})
                         .Set("strides", std::vector<int64_t>{100000000, 1, 1})
                         .Output("y");
  CHECK(model.Text().find("its window has 100000000 taps along the depth, 4096 at most are "
                          "supported") != std::string::npos);
}

TEST_CASE("ConvTranspose: of volumes has groups, dilations and pads of their own") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 2, 2, 2, 1})
                         .Floats("w", {2, 1, 2, 1, 1}, {1, 10, 2, 20})
                         .Floats("b", {2}, {1000, 2000})
                         .Node("ConvTranspose", {"x", "w", "b"}, {"y"})
                         .Set("group", int64_t{2})
                         .Set("dilations", std::vector<int64_t>{2, 1, 1})
                         .Set("pads", std::vector<int64_t>{1, 0, 0, 0, 1, 0})
                         .Output("y");
  // Depths 1, 2 and 3 of four, height 0 of two.
  CheckClose(Run(model, {{1, 2, 3, 4, 5, 6, 7, 8}}), {1003, 1010, 1030, 2014, 2100, 2140});
}

TEST_CASE("GatherElements: indices below zero count from the end") {
  auto model = ModelBuilder(13)
                   .Input("x", {2, 2})
                   .Ints("i", {1, -2})
                   .Ints("shape", {1, 2})
                   .Node("Reshape", {"i", "shape"}, {"j"}, "r")
                   .Node("GatherElements", {"x", "j"}, {"y"})
                   .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4}}), {3, 2});
}

TEST_CASE("ScatterND: adds up updates of the same element") {
  auto model = ModelBuilder(16)
                   .Input("x", {3})
                   .Input("u", {3})
                   .Ints("i", {2, 0, 2})
                   .Ints("shape", {3, 1})
                   .Node("Reshape", {"i", "shape"}, {"j"}, "r")
                   .Node("ScatterND", {"x", "j", "u"}, {"y"})
                   .Set("reduction", "add")
                   .Output("y");
  CheckClose(Run(model, {{1, 2, 3}, {10, 20, 30}}), {21, 2, 43});
}

TEST_CASE("Einsum: a letter that no other term has is summed over, one given twice is a diagonal") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 2})
                         .Input("z", {2, 2})
                         .Node("Einsum", {"x", "z"}, {"y"})
                         .Set("equation", "ii,kj->ij")
                         .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4}, {1, 2, 3, 4}}), {4, 6, 16, 24});
}

TEST_CASE("Einsum: a letter that the output has twice is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2})
                         .Node("Einsum", {"x"}, {"y"})
                         .Set("equation", "i->ii")
                         .Output("y");
  CHECK(model.Text() == "error: node 'n' (Einsum): the output has 'i' twice");
}

TEST_CASE("LSTM: one step is that of its definition") {
  const auto model = ModelBuilder(14)
                         .Input("x", {1, 1, 1})
                         .Floats("w", {1, 4, 1}, {0.1F, 0.2F, 0.3F, 0.4F})
                         .Floats("r", {1, 4, 1}, {0.5F, 0.6F, 0.7F, 0.8F})
                         .Floats("b", {1, 8}, {0, 0, 0, 0, 0.01F, 0.02F, 0.03F, 0.04F})
                         .Floats("h", {1, 1, 1}, {0.25F})
                         .Floats("c", {1, 1, 1}, {-0.5F})
                         .Node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, {"y", "yh", "yc"})
                         .Set("hidden_size", 1)
                         .Output("yh");
  const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
  const double x = 2.0;
  const double i = sigmoid(0.1 * x + 0.5 * 0.25 + 0.01);
  const double o = sigmoid(0.2 * x + 0.6 * 0.25 + 0.02);
  const double f = sigmoid(0.3 * x + 0.7 * 0.25 + 0.03);
  const double g = std::tanh(0.4 * x + 0.8 * 0.25 + 0.04);
  const double c = f * -0.5 + i * g;
  CheckClose(Run(model, {{2}}), {static_cast<float>(o * std::tanh(c))});
}

TEST_CASE("SoftmaxCrossEntropyLoss: what is ignored counts neither above nor below the line") {
  const auto model = ModelBuilder(13)
                         .Input("x", {3, 2})
                         .Ints("t", {0, -1, 1})
                         .Node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"})
                         .Set("ignore_index", -1)
                         .Output("y");
  const double first = -std::log(1.0 / (1.0 + std::exp(1.0)));
  const double last = -std::log(1.0 / (1.0 + std::exp(-3.0)));
  CheckClose(Run(model, {{0, 1, 7, 9, -1, 2}}), {static_cast<float>((first + last) / 2)});
}

}  // namespace tenon::converter::test
