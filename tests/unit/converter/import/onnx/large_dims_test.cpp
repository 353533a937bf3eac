// Inputs whose dims cost nothing in the file: what operators would make of them counts against the
// memory that a conversion may take, before it is made.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {
namespace {

constexpr int64_t kMany = int64_t{1} << 30;

/// True if the model is refused for the memory that it would take, in the words of --max-memory.
bool IsRefused(const ModelBuilder& model) {
  const Result<Graph> graph = model.Import();
  if (graph.ok()) return false;
  CAPTURE(graph.error().message);
  const bool refused = graph.error().kind == ErrorKind::kDoesNotFit &&
                       graph.error().message.find("--max-memory=") != std::string::npos;
  CHECK(refused);
  return refused;
}

TEST_CASE("Large dims: places of elements that are gathered or scattered") {
  auto gather =
      ModelBuilder(18).Input("x", {1, kMany}).Input("i", {1, kMany}, onnx::TensorProto::INT64);
  gather.Node("GatherElements", {"x", "i"}, {"y"}).Set("axis", 0).Output("y");
  CHECK(IsRefused(gather));
  auto scatter =
      ModelBuilder(18).Input("x", {1, kMany}).Input("i", {1, kMany}, onnx::TensorProto::INT64);
  scatter.Node("ScatterElements", {"x", "i", "x"}, {"y"}).Output("y");
  CHECK(IsRefused(scatter));
}

TEST_CASE("Large dims: numbers along a new axis, and the order of a sequence") {
  auto hot = ModelBuilder(13).Input("i", {1}, onnx::TensorProto::INT64).ScalarInt("depth", kMany);
  hot.Floats("values", {2}).Node("OneHot", {"i", "depth", "values"}, {"y"}).Output("y");
  CHECK(IsRefused(hot));
  auto sequence = ModelBuilder(13).Input("x", {kMany, 1}).Ints("lengths", {3});
  sequence.Node("ReverseSequence", {"x", "lengths"}, {"y"}).Output("y");
  CHECK(IsRefused(sequence));
}

TEST_CASE("Large dims: the mask of a triangle, the ones of a diagonal") {
  constexpr int64_t kSide = 40000;
  auto triangle = ModelBuilder(18).Input("x", {kSide, kSide}).Node("Trilu", {"x"}, {"y"});
  CHECK(IsRefused(triangle.Output("y")));
  auto eye = ModelBuilder(18).Input("x", {kSide, kSide}).Node("EyeLike", {"x"}, {"y"});
  CHECK(IsRefused(eye.Output("y")));
}

TEST_CASE("Large dims: where the elements of a resized dimension lie") {
  auto model = ModelBuilder(18).Input("x", {1, 1, 1, 3}).Floats("s", {4}, {1, 1, 1, 3e8F});
  model.Floats("roi", {8}, {0, 0, 0, 0, 1, 1, 1, 0.5F});
  model.Node("Resize", {"x", "roi", "s"}, {"y"});
  model.Set("coordinate_transformation_mode", "tf_crop_and_resize").Output("y");
  CHECK(IsRefused(model));
}

TEST_CASE("Large dims: a depth that is no number of elements is refused") {
  auto hot =
      ModelBuilder(13).Input("i", {1}, onnx::TensorProto::INT64).Floats("depth", {}, {1e30F});
  hot.Floats("values", {2}).Node("OneHot", {"i", "depth", "values"}, {"y"}).Output("y");
  CHECK(hot.Text() == "error: node 'n' (OneHot): depth must be one number from 1 to 2^31 - 1");
}

}  // namespace
}  // namespace tenon::converter::test
