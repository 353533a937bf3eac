// The float models of the shared folder with weights in fewer bits, against the same models with
// f32 weights; and the model of float16 against what ONNX Runtime gave.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "converter/ir/elements.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

using converter::Conversion;
using converter::WeightsForm;

Conversion ConvertedAs(WeightsForm form, const std::filesystem::path& model) {
  converter::ConvertOptions options = OptionsFor();
  options.model = model;
  options.weights = form;
  auto conversion = converter::Convert(options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

Arrays Outputs(const Conversion& conversion, const Arrays& inputs) {
  RunResult result = RunPlan(conversion.plan, inputs);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  return std::move(result.outputs);
}

/// Energy of b over that of a - b, in decibels; f32 arrays.
double SnrDb(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  double signal = 0;
  double noise = 1e-300;
  for (size_t at = 0; at < b.size(); at += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    signal += static_cast<double>(y) * static_cast<double>(y);
    noise += std::pow(static_cast<double>(x) - static_cast<double>(y), 2);
  }
  return 10 * std::log10(signal / noise);
}

/// A form of all models' weights: how much smaller they must be, and how near the outputs.
struct Bar {
  WeightsForm form;
  double most_of_weights;
  double least_snr_db;
};

void CheckStored(const std::filesystem::path& models, const FloatModel& model, const Bar& bar) {
  const std::filesystem::path path = ModelPath(models, model);
  const Arrays inputs = ReadArrays(models, model, "input");
  const Conversion plain = ConvertedAs(WeightsForm::kF32, path);
  const Conversion stored = ConvertedAs(bar.form, path);
  CAPTURE(stored.weights.stored);
  CHECK(stored.weights.stored > 0);
  CHECK(static_cast<double>(stored.weights.bytes_after) <=
        bar.most_of_weights * static_cast<double>(stored.weights.bytes_before));
  const Arrays expected = Outputs(plain, inputs);
  const Arrays actual = Outputs(stored, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(SnrDb(actual[i], expected[i]) >= bar.least_snr_db);
  }
}

TEST_CASE("Stored weights: every float model, in f16 and in int8, computes nearly the same") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(model.folder);
    CAPTURE(model.file);
    CheckStored(models, model, {WeightsForm::kF16, 0.56, 44});
    CheckStored(models, model, {WeightsForm::kInt8, 0.40, 25});
  }
}

/// The elements of a .npy file of f16, format 1.0.
std::vector<std::byte> ReadHalves(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kPrefix = 10;  // magic, version, header length
  REQUIRE(text.size() > kPrefix);
  REQUIRE(text.find("'<f2'") != std::string::npos);
  const size_t header = static_cast<uint8_t>(text[8]) + 256U * static_cast<uint8_t>(text[9]);
  std::vector<std::byte> bytes(text.size() - kPrefix - header);
  std::memcpy(bytes.data(), text.data() + kPrefix + header, bytes.size());
  return bytes;
}

TEST_CASE("Models of float16: the shared one gives ONNX Runtime's outputs, its weights stay f16") {
  const std::filesystem::path folder = SharedPath("models/squeezenet1.1");
  if (folder.empty()) return;
  const std::filesystem::path file = folder / "model_fp16.onnx";
  const Conversion conversion = ConvertedAs(WeightsForm::kModel, file);
  CHECK(conversion.weights.stored == conversion.weights.tensors);
  CHECK(conversion.weights.largest_error == 0);
  CHECK(conversion.plan.size() < std::filesystem::file_size(file) * 102 / 100);
  const Arrays outputs = Outputs(conversion, {ReadHalves(folder / "model_fp16.input_0.npy")});
  const std::vector<std::byte> expected = ReadHalves(folder / "model_fp16.output_0.npy");
  REQUIRE(outputs[0].size() == expected.size());
  for (size_t at = 0; at < expected.size(); at += sizeof(uint16_t)) {
    uint16_t x = 0;
    uint16_t y = 0;
    std::memcpy(&x, outputs[0].data() + at, sizeof x);
    std::memcpy(&y, expected.data() + at, sizeof y);
    const float wanted = converter::FloatFromHalf(y);
    // Probabilities; one step of f16 of the largest is 2^-11.
    CHECK(std::abs(converter::FloatFromHalf(x) - wanted) <= 1.0F / 2048);
  }
}

TEST_CASE("Models of dynamic range: i8 weights stay i8 and compute what they compute as f32") {
  const std::filesystem::path file = SharedPath("models/mlperf_kws_dscnn/kws_dynrange.tflite");
  if (file.empty()) return;
  const Conversion stored = ConvertedAs(WeightsForm::kModel, file);
  const Conversion plain = ConvertedAs(WeightsForm::kF32, file);
  CHECK(stored.weights.stored > 0);
  CHECK(stored.weights.largest_error == 0);
  CHECK(stored.plan.size() < plain.plan.size() / 2);
  std::vector<std::byte> input(49 * 10 * sizeof(float));
  for (size_t i = 0; i < 490; ++i) {
    const float value = static_cast<float>(i % 29) - 14;
    std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
  }
  CHECK(Outputs(stored, {input}) == Outputs(plain, {input}));
}

}  // namespace
}  // namespace tenon::test
