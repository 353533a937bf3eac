// Float models of the shared folder, quantized on variations of their one real input, against what
// ONNX Runtime gave for it.
#include "tests/models/quantized_float_models.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

using converter::CalibrationArray;
using converter::Conversion;

/// Samples for the model's one input, stacked.
CalibrationArray SamplesFor(const std::vector<std::byte>& real, const std::vector<int64_t>& shape) {
  CalibrationArray array;
  array.name = "variations";
  const Arrays all = Variations(real, shape);
  array.shape = {static_cast<int64_t>(all.size())};
  array.shape.insert(array.shape.end(), shape.begin(), shape.end());
  for (const auto& one : all) array.bytes.insert(array.bytes.end(), one.begin(), one.end());
  return array;
}

/// Shape of the only input of a model, by its float plan.
std::vector<int64_t> InputShape(const Conversion& conversion) {
  // "input %x: f32[1,3,224,224]" is the first type in the graph's text.
  const size_t begin = conversion.graph_text.find("f32[");
  REQUIRE(begin != std::string::npos);
  std::vector<int64_t> shape;
  int64_t value = 0;
  for (size_t i = begin + 4; i < conversion.graph_text.size(); ++i) {
    const char c = conversion.graph_text[i];
    if (c == ',' || c == ']') {
      shape.push_back(value);
      value = 0;
      if (c == ']') break;
    } else {
      value = value * 10 + (c - '0');
    }
  }
  return shape;
}

void CheckQuantized(const std::filesystem::path& models, const FloatModel& model) {
  CAPTURE(model.folder);
  converter::ConvertOptions options = OptionsFor();
  options.model = ModelPath(models, model);
  options.import.batch = 1;
  options.compile.order.mode = converter::OrderMode::kSource;
  const Arrays inputs = ReadArrays(models, model, "input");
  const Arrays expected = ReadArrays(models, model, "output");
  if (inputs.size() != 1) {
    MESSAGE(model.folder << " skipped: samples are made of one input only");
    return;
  }
  const auto plain = converter::Convert(options);
  REQUIRE_MESSAGE(plain.ok(), (plain.ok() ? "" : plain.error().message));
  options.quantize.emplace();
  options.quantize->arrays = {SamplesFor(inputs.front(), InputShape(*plain))};
  const auto quantized = converter::Convert(options);
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  const converter::QuantizationReport& report = *quantized->quantization;
  const RunResult result = RunPlan(quantized->plan, inputs);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  REQUIRE(result.outputs.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double decibel = DecibelOf(expected[i], result.outputs[i]);
    MESSAGE(fmt::format(
        "{} output {}: {:.1f} dB on the real input, {:.1f} dB on all; {} of {} "
        "layers float; {} bytes of {}",
        model.folder, i, decibel, report.accuracy.outputs[i].Decibel(), report.float_layers,
        report.float_layers + report.integer_layers, quantized->plan.size(), plain->plan.size()));
    CHECK(decibel > 30);
  }
  CHECK(report.integer_layers > 0);
}

TEST_CASE("Quantized float models keep 30 dB of their outputs on the real input") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const FloatModel& model : FloatModels()) CheckQuantized(models, model);
}

}  // namespace
}  // namespace tenon::test
