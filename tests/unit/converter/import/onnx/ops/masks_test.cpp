// ArgMax, ArgMin and Hardmax: where the largest and smallest elements are.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// The place that `op` says for each row of [rows, 4] floats.
std::vector<int64_t> Places(const char* op, const Floats& x, bool last = false) {
  auto model = ModelBuilder(13).Input("x", {static_cast<int64_t>(x.size()) / 4, 4});
  model.Node(op, {"x"}, {"y"}).Set("axis", 1).Set("select_last_index", last ? 1 : 0);
  return Run<int64_t>(model.Output("y", onnx::TensorProto::INT64), {x});
}

}  // namespace

TEST_CASE("ArgMax: takes the first of equals, or the last") {
  for (const int64_t last : {0, 1}) {
    const auto model = ModelBuilder(13)
                           .Input("x", {2, 3})
                           .Node("ArgMax", {"x"}, {"y"})
                           .Set("axis", 1)
                           .Set("keepdims", 0)
                           .Set("select_last_index", last)
                           .Output("y", onnx::TensorProto::INT64);
    const std::vector<int64_t> places = Run<int64_t>(model, {{5, 5, 1, -2, -1, -1}});
    CHECK(places == (last == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{0, 1}));
  }
}

TEST_CASE(
    "ArgMax: what is not a number is the largest, the first one unless the last is asked for") {
  const float nan = std::nanf("");
  const Floats x = {nan, 9, 3, 2, 5, nan, 3, nan, nan, nan, nan, nan, 7, 9, 9, 1};
  CHECK(Places("ArgMax", x) == std::vector<int64_t>{0, 1, 0, 1});
  CHECK(Places("ArgMax", x, /*last=*/true) == std::vector<int64_t>{0, 3, 3, 2});
}

TEST_CASE("ArgMin: what is not a number is the largest, so the smallest number is found") {
  const float nan = std::nanf("");
  const Floats x = {5, nan, 3, 9, nan, 4, 3, 3, nan, nan, nan, nan};
  CHECK(Places("ArgMin", x) == std::vector<int64_t>{2, 2, 0});
  CHECK(Places("ArgMin", x, /*last=*/true) == std::vector<int64_t>{2, 3, 3});
}

TEST_CASE("ArgMax, ArgMin: of integers the first of equals is taken, or the last") {
  // Not as floats: the two large ones differ by less than a float has.
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const bool last : {false, true}) {
      auto model = ModelBuilder(13).Input("x", {2, 4});
      model.Ints("far", {1 << 30, (1 << 30) + 1, (1 << 30) + 1, 1 << 30});
      model.Node("Cast", {"x"}, {"i"}, "cast").Set("to", onnx::TensorProto::INT64);
      model.Node("Add", {"i", "far"}, {"sum"}, "add");
      model.Node(op, {"sum"}, {"y"}).Set("axis", 1).Set("select_last_index", last ? 1 : 0);
      model.Output("y", onnx::TensorProto::INT64);
      const auto places = Run<int64_t>(model, {{0, 0, 0, 0, 5, 4, 0, 0}});
      const bool largest = std::string(op) == "ArgMax";
      const std::vector<int64_t> first_ones =
          largest ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 3};
      const std::vector<int64_t> last_ones =
          largest ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{3, 3};
      CHECK(places == (last ? last_ones : first_ones));
    }
  }
}

TEST_CASE("Hardmax: is 1 at what is not a number") {
  const auto model = ModelBuilder(13).Input("x", {1, 3}).Node("Hardmax", {"x"}, {"y"}).Output("y");
  CheckClose(Run(model, {{4, std::nanf(""), 8}}), {0, 1, 0});
}

}  // namespace tenon::converter::test
