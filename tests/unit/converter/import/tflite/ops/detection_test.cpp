// TFLite_Detection_PostProcess: boxes that overlap better ones are dropped.
#include <doctest/doctest.h>
#include <flatbuffers/flexbuffers.h>

#include <cstring>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using format::TensorType;
using Floats = std::vector<float>;

std::vector<uint8_t> DetectionOptions(bool each_class, int classes_of_box = 1) {
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("max_detections", 3);
    options.Int("max_classes_per_detection", classes_of_box);
    options.Int("num_classes", 2);
    options.Bool("use_regular_nms", each_class);
    options.Float("nms_score_threshold", 0.25F);
    options.Float("nms_iou_threshold", 0.5F);
    for (const char* scale : {"y_scale", "x_scale", "h_scale", "w_scale"}) {
      options.Float(scale, 1.0F);
    }
  });
  options.Finish();
  return options.GetBuffer();
}

/// Four boxes of one size at anchors: two of one place, one apart, one with too low a score. The
/// background is the first of three classes.
TfliteBuilder DetectionModel(const std::vector<uint8_t>& options) {
  TfliteBuilder model;
  const int32_t boxes = model.Input("boxes", kF32, {1, 4, 4});
  const int32_t scores = model.Floats(
      "scores", {1, 4, 3}, {0, 0.5F, 0.75F, 0, 0.625F, 0.25F, 0, 0.375F, 0, 0.9F, 0.125F, 0});
  const int32_t anchors =
      model.Floats("anchors", {4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 9, 9, 2, 2, 5, 5, 2, 2});
  std::vector<int32_t> outputs;
  outputs.push_back(model.Output("found", kF32, {1, 3, 4}));
  outputs.push_back(model.Output("labels", kF32, {1, 3}));
  outputs.push_back(model.Output("values", kF32, {1, 3}));
  outputs.push_back(model.Output("count", kF32, {1}));
  model.Custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, outputs, options);
  return model;
}

std::vector<Floats> Detected(TfliteBuilder model) {
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  Values values;
  values[graph->inputs().at(0).tensor].resize(16 * sizeof(float));  // the anchors themselves
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  const Status status = Evaluate(*graph, wanted, values);
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  std::vector<Floats> outputs;
  for (const TensorId id : wanted) {
    const auto& bytes = values.at(id);
    outputs.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(outputs.back().data(), bytes.data(), bytes.size());
  }
  return outputs;
}

TEST_CASE("TFLite detection: each box counts with its best class") {
  const std::vector<Floats> outputs = Detected(DetectionModel(DetectionOptions(false)));
  CHECK(outputs[0] == Floats{0, 0, 2, 2, 8, 8, 10, 10, 0, 0, 0, 0});
  CHECK(outputs[1] == Floats{1, 0, 0});
  CHECK(outputs[2] == Floats{0.75F, 0.375F, 0});
  CHECK(outputs[3] == Floats{2});
}

TEST_CASE("TFLite detection: each class drops boxes for itself, a box with just the score stays") {
  const std::vector<Floats> outputs = Detected(DetectionModel(DetectionOptions(true)));
  CHECK(outputs[1] == Floats{1, 0, 0});
  CHECK(outputs[2] == Floats{0.75F, 0.625F, 0.375F});
  CHECK(outputs[0] == Floats{0, 0, 2, 2, 0, 0, 2, 2, 8, 8, 10, 10});
  CHECK(outputs[3] == Floats{3});
}

TEST_CASE("TFLite detection: several classes of a box, and options that are none, are refused") {
  CHECK(DetectionModel(DetectionOptions(false, 2))
            .Text()
            .find("several classes of a box are not supported") != std::string::npos);
  CHECK(DetectionModel({}).Text().find("malformed: its options are no FlexBuffer") !=
        std::string::npos);
  CHECK(DetectionModel({1, 2, 3, 255, 255, 255}).Text().find("error: ") == 0);
}

TEST_CASE("TFLite detection: other custom operators are refused by their names") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1});
  const int32_t y = model.Output("y", kF32, {1});
  model.Custom("Mine", {x}, {y}, {});
  CHECK(model.Text() ==
        "error: the model uses an operator that cannot be converted\n"
        "unsupported op Mine (1 times): y");
}

}  // namespace
}  // namespace tenon::converter::test
