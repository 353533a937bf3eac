#include "tests/support/field_models.hpp"

#include <doctest/doctest.h>

#include <iterator>

#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

// basic_pitch takes logarithms of small numbers and normalises them: engines differ by 8.6e-4 of
// the largest value, its meta.json allows 3e-3.
constexpr FieldModel kModels[] = {
    {{"basic_pitch", "nmp", "nmp."}, -1, 30},
    {{"magika", "model", "model."}, -1, 1},
    {{"ppocr_v6", "PP-OCRv6_det_small", "PP-OCRv6_det_small."}, -1, 1},
    {{"ppocr_v6", "ch_ppocr_mobile_v2.0_cls_mobile", "ch_ppocr_mobile_v2.0_cls_mobile."}, -1, 1},
    {{"silero_vad_6", "silero_vad", "silero_vad."}, 2, 1},
    {{"silero_vad_6", "silero_vad_op18_ifless", "silero_vad_op18_ifless."}, 1, 1},
};

/// Shapes of inputs that the files leave open.
struct OpenShape {
  const char* file;
  const char* input;
  std::vector<int64_t> dims;
};

const std::vector<OpenShape>& OpenShapes() {
  static const std::vector<OpenShape> shapes = {
      {"nmp", "serving_default_input_2:0", {1, 43844, 1}},
      {"model", "bytes", {1, 2048}},
      {"PP-OCRv6_det_small", "x", {1, 3, 480, 640}},
      {"ch_ppocr_mobile_v2.0_cls_mobile", "x", {1, 3, 48, 192}},
      {"silero_vad", "input", {1, 576}},
      {"silero_vad", "state", {2, 1, 128}},
      {"silero_vad_op18_ifless", "input", {1, 576}},
      {"silero_vad_op18_ifless", "state", {2, 1, 128}},
  };
  return shapes;
}

}  // namespace

Span<const FieldModel> FieldModels() { return {kModels, std::size(kModels)}; }

Arrays RunInputs(const std::filesystem::path& models, const FieldModel& model) {
  Arrays inputs = ReadArrays(models, model.model, "input");
  if (model.frozen_input >= 0) inputs.erase(inputs.begin() + model.frozen_input);
  return inputs;
}

converter::ConvertOptions FieldOptions(const std::filesystem::path& models, const FieldModel& model,
                                       const std::string& board) {
  converter::ConvertOptions options = OptionsFor(board);
  options.model = ModelPath(models, model.model);
  for (const OpenShape& shape : OpenShapes()) {
    if (std::string(shape.file) == model.model.file) {
      options.import.shapes[shape.input] = shape.dims;
    }
  }
  if (model.frozen_input >= 0) {
    const Arrays inputs = ReadArrays(models, model.model, "input");
    options.import.freeze["sr"] = {DType::kI64, Shape(),
                                   inputs.at(static_cast<size_t>(model.frozen_input))};
  }
  return options;
}

void CheckFieldModel(const std::filesystem::path& models, const FieldModel& model,
                     const std::string& board, bool portable) {
  CAPTURE(model.model.file);
  CAPTURE(board);
  CAPTURE(portable);
  const auto conversion = converter::Convert(FieldOptions(models, model, board));
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  RunSettings settings;
  settings.portable = portable;
  const RunResult result = RunPlan(conversion->plan, RunInputs(models, model), settings);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  const Arrays expected = ReadArrays(models, model.model, "output");
  REQUIRE(!expected.empty());
  REQUIRE(result.outputs.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(Deviation(result.outputs[i], expected[i]) <= model.tolerance);
  }
}

}  // namespace tenon::test
