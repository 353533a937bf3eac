// The model that ships with the project, quantized and judged on its held-out labelled images.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

constexpr int64_t kImages = 360;
constexpr size_t kPixels = 64;
constexpr size_t kClasses = 10;

std::filesystem::path Digits(const char* file) {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / "sdk/models/digits" / file;
}

/// The data of a .npy file, format 1.0.
std::vector<std::byte> NpyData(const char* file, const char* code) {
  std::ifstream stream(Digits(file), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  REQUIRE(text.size() > 10);
  const size_t header = static_cast<uint8_t>(text[8]) + 256U * static_cast<uint8_t>(text[9]);
  REQUIRE(text.substr(10, header).find(code) != std::string::npos);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin + 10 + header, begin + text.size()};
}

converter::ConvertOptions DigitsOptions() {
  converter::ConvertOptions options = OptionsFor();
  options.model = Digits("digits.onnx");
  options.import.batch = 1;
  return options;
}

converter::QuantizeOptions HeldOut() {
  converter::QuantizeOptions quantize;
  quantize.arrays = {
      {"images", DType::kF32, {kImages, 1, 8, 8}, NpyData("held_out_images.npy", "'<f4'")},
      {"labels", DType::kI64, {kImages}, NpyData("held_out_labels.npy", "'<i8'")}};
  return quantize;
}

/// Images whose largest probability is that of their label.
int64_t CountRight(const std::vector<uint8_t>& plan) {
  const std::vector<std::byte> images = NpyData("held_out_images.npy", "'<f4'");
  const std::vector<std::byte> labels = NpyData("held_out_labels.npy", "'<i8'");
  int64_t right = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const auto begin = images.begin() + i * static_cast<int64_t>(kPixels * sizeof(float));
    const RunResult run =
        RunPlan(plan, {{begin, begin + static_cast<int64_t>(kPixels * sizeof(float))}});
    REQUIRE_MESSAGE(run.error.empty(), run.error);
    float scores[kClasses];
    REQUIRE(run.outputs.front().size() == sizeof scores);
    std::memcpy(scores, run.outputs.front().data(), sizeof scores);
    int64_t label = 0;
    std::memcpy(&label, labels.data() + static_cast<size_t>(i) * sizeof label, sizeof label);
    right += std::max_element(scores, scores + kClasses) - scores == label ? 1 : 0;
  }
  return right;
}

TEST_CASE("digits, quantized: loses less than half a percent of the right answers") {
  converter::ConvertOptions options = DigitsOptions();
  const auto plain = converter::Convert(options);
  REQUIRE(plain.ok());
  options.quantize = HeldOut();
  const auto quantized = converter::Convert(options);
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  const int64_t float_right = CountRight(plain->plan);
  const int64_t right = CountRight(quantized->plan);
  CHECK(static_cast<double>(float_right - right) < 0.005 * static_cast<double>(float_right));
  REQUIRE(quantized->quantization.has_value());
  const converter::QuantizationReport& report = *quantized->quantization;
  CHECK(report.accuracy.float_right == float_right);
  CHECK(report.accuracy.right == right);
  CHECK(report.integer_layers == 4);
  CHECK(report.accuracy.outputs.front().Decibel() > 40);
  // Weights a quarter of their size, and everything between input and softmax on integers.
  CHECK(quantized->plan.size() < plain->plan.size() / 2);
  CHECK(quantized->graph_text.find("= conv(") == std::string::npos);
  CHECK(quantized->graph_text.find("= matmul(") == std::string::npos);
}

TEST_CASE("digits, quantized: the same samples give the same plan") {
  converter::ConvertOptions options = DigitsOptions();
  options.quantize = HeldOut();
  const auto a = converter::Convert(options);
  const auto b = converter::Convert(options);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(a->plan == b->plan);
}

TEST_CASE("digits, quantized: a camera's bytes go straight into the first convolution") {
  converter::ConvertOptions options = DigitsOptions();
  const auto format = converter::ParseInputFormat("image", "u8,nhwc,scale=0.0625");
  REQUIRE(format.ok());
  options.input_formats.push_back(*format);
  options.quantize = HeldOut();
  converter::CalibrationArray& images = options.quantize->arrays.front();
  std::vector<std::byte> bytes;  // pixels are sixteenths
  for (size_t at = 0; at < images.bytes.size(); at += sizeof(float)) {
    float pixel = 0;
    std::memcpy(&pixel, images.bytes.data() + at, sizeof pixel);
    bytes.push_back(static_cast<std::byte>(pixel * 16));
  }
  images = {"images", DType::kU8, {kImages, 8, 8, 1}, bytes};
  const auto quantized = converter::Convert(options);
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  CAPTURE(quantized->graph_text);
  CHECK(quantized->graph_text.find("= lookup(") == std::string::npos);
  CHECK(quantized->graph_text.find("= quantize(") == std::string::npos);
  const PlanBytes plan(quantized->plan);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(plan.data()), plan.size()});
  REQUIRE(view.ok());
  CHECK(static_cast<OpKind>(view->program(0).op(0).kind) == OpKind::kQuantizedConv);
  const converter::Accuracy& accuracy = quantized->quantization->accuracy;
  CHECK(static_cast<double>(accuracy.float_right - accuracy.right) <
        0.005 * static_cast<double>(accuracy.float_right));
  CHECK(accuracy.outputs.front().Decibel() > 40);
}

TEST_CASE("digits, quantized: a layer that is to stay float does") {
  converter::ConvertOptions options = DigitsOptions();
  options.quantize = HeldOut();
  options.quantize->keep = {"block1.*"};
  const auto quantized = converter::Convert(options);
  REQUIRE(quantized.ok());
  CHECK(quantized->quantization->integer_layers == 3);
  const size_t first = quantized->graph_text.find("= conv(");
  REQUIRE(first != std::string::npos);
  CHECK(quantized->graph_text.find("= conv(", first + 1) == std::string::npos);
  for (const converter::QuantizedLayer& layer : quantized->quantization->layers) {
    const bool asked = layer.op.starts_with("block1.");
    CHECK((layer.reason == "--quantize-keep") == asked);
  }
}

}  // namespace
}  // namespace tenon::test
