// Weights in fewer bits and inputs as devices deliver them, through conversion, plan and run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::test {
namespace {

using converter::Parsed;
using Arrays = std::vector<std::vector<std::byte>>;
using converter::Conversion;
using converter::ConvertOptions;
using converter::WeightsForm;

Conversion Converted(const std::string& text, const ConvertOptions& options) {
  auto conversion = converter::ConvertGraph(Parsed(text), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

std::vector<std::byte> Run(const Conversion& conversion, const std::vector<std::byte>& input) {
  const RunResult result = RunPlan(conversion.plan, {input});
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  return result.outputs[0];
}

template <typename T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void AddFormat(ConvertOptions& options, const std::string& text) {
  const auto format = converter::ParseInputFormat("x", text);
  if (!format.ok()) FAIL(format.error().message);
  options.input_formats.push_back(*format);
}

/// An image of 20 x 24 pixels of 3 channels: as a camera has it, and as a model wants it.
struct Image {
  std::vector<uint8_t> camera;  ///< [20, 24, 3]
  std::vector<float> model;     ///< [3, 20, 24]: (byte - mean[c]) * scale[c]
};

Image MakeImage(const float (&mean)[3], const float (&scale)[3]) {
  constexpr size_t kPixels = 20 * 24;
  Image image;
  image.model.resize(3 * kPixels);
  std::mt19937 random(5);
  for (size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (size_t c = 0; c < 3; ++c) {
      image.camera.push_back(static_cast<uint8_t>(random() & 0xFFU));
      image.model[c * kPixels + pixel] =
          (static_cast<float>(image.camera.back()) - mean[c]) * scale[c];
    }
  }
  return image;
}

constexpr const char* kFloatModel = R"(input %x: f32[1,3,20,24]
const %w: f32[16,3,3,3] = random(1)
const %b: f32[16] = random(2)
const %v: f32[32,16,3,3] = random(3)
%a = conv(%x, %w, %b) {strides=[2,2], pads=[1,1,1,1], activation=relu}
%c = conv(%a, %v) {pads=[1,1,1,1]}
%y = average_pool(%c) {kernel=[10,12]}
output %y
)";

TEST_CASE("Input format: a float model reads camera bytes without a pass over them") {
  const float mean[3] = {123.675F, 116.28F, 103.53F};
  const float scale[3] = {0.017125F, 0.017507F, 0.017429F};
  const Image image = MakeImage(mean, scale);
  const Conversion plain = Converted(kFloatModel, OptionsFor());
  const std::vector<std::byte> expected = Run(plain, Bytes(image.model));
  for (const bool portable : {false, true}) {
    CAPTURE(portable);
    ConvertOptions options = OptionsFor();
    options.board.units[0].portable_kernels_only = portable;
    AddFormat(options, "u8,nhwc,mean=123.675:116.28:103.53,scale=0.017125:0.017507:0.017429");
    const Conversion folded = Converted(kFloatModel, options);
    CHECK(folded.ops_executed == 3);  // two convolutions and the pool
    CHECK(RelativeDifference(Run(folded, Bytes(image.camera)), expected) <= 1e-5);
  }
}

TEST_CASE("Input format: rows without channels last, and bytes that no convolution takes, work") {
  const float mean[3] = {128, 128, 128};
  const float scale[3] = {0.0078125F, 0.0078125F, 0.0078125F};
  const Image image = MakeImage(mean, scale);
  std::vector<uint8_t> planes(image.camera.size());
  for (size_t i = 0; i < planes.size(); ++i) planes[i % 3 * 480 + i / 3] = image.camera[i];
  const std::vector<std::byte> expected =
      Run(Converted(kFloatModel, OptionsFor()), Bytes(image.model));
  ConvertOptions options = OptionsFor();
  AddFormat(options, "u8,nchw,mean=128,scale=0.0078125");
  const Conversion folded = Converted(kFloatModel, options);
  CHECK(folded.ops_executed == 3);
  CHECK(RelativeDifference(Run(folded, Bytes(planes)), expected) <= 1e-5);

  const char* other = "input %x: f32[1,3,20,24]\n%y = unary(%x) {function=neg}\noutput %y\n";
  const std::vector<std::byte> negated = Run(Converted(other, OptionsFor()), Bytes(image.model));
  CHECK(Run(Converted(other, options), Bytes(planes)) == negated);
}

/// The same before activations are fused.
constexpr const char* kUnfused = R"(input %x: f32[1,3,20,24]
const %w: f32[16,3,3,3] = random(1)
const %b: f32[16] = random(2)
const %v: f32[32,16,3,3] = random(3)
%a = conv(%x, %w, %b) {strides=[2,2], pads=[1,1,1,1]}
%r = unary(%a) {function=relu}
%c = conv(%r, %v) {pads=[1,1,1,1]}
%y = average_pool(%c) {kernel=[10,12]}
output %y
)";

TEST_CASE("Input format: quantizing takes camera bytes as they are, whatever the channels' means") {
  const float mean[3] = {123.675F, 116.28F, 103.53F};
  const float scale[3] = {0.017125F, 0.017507F, 0.017429F};
  const Image image = MakeImage(mean, scale);
  const std::vector<std::byte> expected =
      Run(Converted(kUnfused, OptionsFor()), Bytes(image.model));
  for (const bool portable : {false, true}) {
    CAPTURE(portable);
    ConvertOptions options = OptionsFor();
    options.board.units[0].portable_kernels_only = portable;
    AddFormat(options, "u8,nhwc,mean=123.675:116.28:103.53,scale=0.017125:0.017507:0.017429");
    options.quantize.emplace();
    options.quantize->arrays = {{"image", DType::kU8, {1, 20, 24, 3}, Bytes(image.camera)}};
    const Conversion folded = Converted(kUnfused, options);
    CAPTURE(folded.graph_text);
    CHECK(folded.graph_text.find("= quantize(") == std::string::npos);
    CHECK(folded.graph_text.find("= lookup(") == std::string::npos);
    CHECK(folded.graph_text.find("a.x_zero_point: u8[3] = [124, 116, 104]") != std::string::npos);
    CHECK(folded.ops_executed == 3);  // two convolutions and the pool
    CHECK(RelativeDifference(Run(folded, Bytes(image.camera)), expected) <= 0.03);
  }
}

TEST_CASE("Input format: a quantized model with the camera's scale computes the same bits") {
  const float mean[3] = {128, 128, 128};
  const float scale[3] = {0.0078125F, 0.0078125F, 0.0078125F};
  const Image image = MakeImage(mean, scale);
  const char* model = R"(input %x: f32[1,3,20,24]
const %s: f32[1] = [0.0078125]
const %z: i8[1] = [0]
const %w: i8[16,3,3,3] = random(1)
const %b: i32[16] = random(2)
const %m: f32[1] = [0.0123]
%q = quantize(%x, %s, %z) {to=i8}
%y = quantized_conv(%q, %w, %b, %m, _, %z) {strides=[2,2], pads=[1,1,1,1], to=i8}
output %y
)";
  const std::vector<std::byte> expected = Run(Converted(model, OptionsFor()), Bytes(image.model));
  ConvertOptions options = OptionsFor();
  AddFormat(options, "u8,nhwc,mean=128,scale=0.0078125");
  const Conversion folded = Converted(model, options);
  for (const converter::MappedOp& op : folded.mapping) {
    CAPTURE(op.op);
    CHECK(op.op.find("quantize") == std::string::npos);
    CHECK(op.op.find("x.float") == std::string::npos);
  }
  CHECK(Run(folded, Bytes(image.camera)) == expected);
}

TEST_CASE("Weights: plans with f16 and int8 weights are smaller and compute nearly the same") {
  const float mean[3] = {128, 128, 128};
  const float scale[3] = {0.0078125F, 0.0078125F, 0.0078125F};
  const Image image = MakeImage(mean, scale);
  ConvertOptions options = OptionsFor();
  options.weights = WeightsForm::kF32;
  const Conversion plain = Converted(kFloatModel, options);
  const std::vector<std::byte> expected = Run(plain, Bytes(image.model));
  CHECK(plain.weights.stored == 0);
  CHECK(plain.weights.bytes_before == 4 * (16 * 27 + 32 * 144));

  options.weights = WeightsForm::kF16;
  const Conversion half = Converted(kFloatModel, options);
  CHECK(half.weights.stored == 2);
  CHECK(half.weights.bytes_after == half.weights.bytes_before / 2);
  CHECK(RelativeDifference(Run(half, Bytes(image.model)), expected) <= 1e-3);

  options.weights = WeightsForm::kInt8;
  const Conversion bytes = Converted(kFloatModel, options);
  CHECK(bytes.weights.bytes_after == 2 * 16 * 27 + 32 * 144 + 4 * 32);
  CHECK(bytes.memory.constants_bytes < plain.memory.constants_bytes * 3 / 10);
  CHECK(RelativeDifference(Run(bytes, Bytes(image.model)), expected) <= 1e-2);
}

TEST_CASE("Models of float16: ports keep it, results are those of f32, weights stay small") {
  const std::string half_model = R"(input %x: f16[1,3,20,24]
const %w: f16[16,3,3,3] = random(1)
%a = conv(%x, %w) {strides=[2,2], pads=[1,1,1,1], activation=relu}
%y = average_pool(%a) {kernel=[10,12]}
output %y
)";
  const Conversion half = Converted(half_model, OptionsFor());
  CHECK(half.weights.stored == 1);
  CHECK(half.weights.largest_error == 0);
  const std::vector<uint16_t> ones(3 * 480, 0x3C00);
  const std::vector<std::byte> result = Run(half, Bytes(ones));
  CHECK(result.size() == 16 * sizeof(uint16_t));
  ConvertOptions wide = OptionsFor();
  wide.weights = WeightsForm::kF32;
  CHECK(Run(Converted(half_model, wide), Bytes(ones)) == result);
}

}  // namespace
}  // namespace tenon::test
