// The float models of the shared folder, converted and run in every way, against the outputs that
// ONNX Runtime gave for the same inputs.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;
using Arrays = std::vector<std::vector<std::byte>>;

struct Model {
  const char* folder;
  const char* file;    ///< without ".onnx"
  const char* prefix;  ///< of the arrays' names
};

constexpr Model kModels[] = {
    {"mnist_cnn", "mnist", ""},
    {"mlperf_kws_dscnn", "model_fp32", "model_fp32."},
    {"mlperf_resnet8_cifar10", "model_fp32", "model_fp32."},
    {"mlperf_ad01_autoencoder", "model_fp32", "model_fp32."},
    {"resnet20_cifar10", "model", ""},
    {"mobilenet_v2_224", "model_fp32", "model_fp32."},
    {"squeezenet1.1", "model_fp32", "model_fp32."},
    {"googlenet_random", "model", ""},
    {"ultraface_rfb320", "model", "model."},
    {"ultraface_rfb320", "model_simplified", "model_simplified."},
    {"super_resolution_espcn", "model", ""},
    {"fastestdet_352", "model", ""},
    {"kwt1_transformer", "model", "model."},
};

/// The f32 elements of a .npy file, format 1.0.
std::vector<std::byte> ReadFloats(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kPrefix = 10;  // magic, version, header length
  REQUIRE_MESSAGE(text.size() > kPrefix, path.string());
  const size_t header = static_cast<uint8_t>(text[8]) + 256U * static_cast<uint8_t>(text[9]);
  REQUIRE_MESSAGE(text.substr(kPrefix, header).find("'<f4'") != std::string::npos, path.string());
  REQUIRE(text.size() >= kPrefix + header);
  const auto* data = reinterpret_cast<const std::byte*>(text.data()) + kPrefix + header;
  return {data, reinterpret_cast<const std::byte*>(text.data()) + text.size()};
}

Arrays ReadArrays(const fs::path& folder, const Model& model, const char* kind) {
  Arrays arrays;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}{}_{}.npy", model.prefix, kind, i);
    if (!fs::exists(path)) return arrays;
    arrays.push_back(ReadFloats(path));
  }
}

float At(const std::vector<std::byte>& array, size_t index) {
  float value = 0;
  std::memcpy(&value, array.data() + index * sizeof value, sizeof value);
  return value;
}

/// Largest |a - b| over (1e-5 + 1e-4 x the largest |b|): at most 1 if the arrays agree.
double Deviation(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a.size() != b.size() || b.empty()) return INFINITY;
  double largest = 0;
  double difference = 0;
  for (size_t i = 0; i < b.size() / sizeof(float); ++i) {
    const double x = At(a, i);
    const double y = At(b, i);
    if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
    largest = std::max(largest, std::abs(y));
    difference = std::max(difference, std::abs(x - y));
  }
  return difference / (1e-5 + 1e-4 * largest);
}

void CheckRun(const converter::Conversion& conversion, const Arrays& inputs, const Arrays& expected,
              const RunSettings& settings) {
  CAPTURE(settings.portable);
  CAPTURE(settings.threads);
  const RunResult result = RunPlan(conversion.plan, inputs, settings);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  REQUIRE(result.outputs.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(Deviation(result.outputs[i], expected[i]) <= 1);
  }
}

void CheckMemory(const converter::MemoryReport& memory) {
  CHECK(memory.arena_bytes >= memory.lower_bound);
  CHECK(static_cast<double>(memory.arena_bytes) <= 1.02 * static_cast<double>(memory.lower_bound));
}

void CheckModel(const fs::path& folder, const Model& model) {
  converter::ConvertOptions options = OptionsFor();
  options.model = folder / fmt::format("{}.onnx", model.file);
  const Arrays inputs = ReadArrays(folder, model, "input");
  const Arrays expected = ReadArrays(folder, model, "output");
  REQUIRE(!inputs.empty());
  REQUIRE(!expected.empty());
  for (const bool fuse : {true, false}) {
    for (const bool portable : {false, true}) {
      CAPTURE(fuse);
      CAPTURE(portable);
      options.fuse = fuse;
      options.board.units[0].portable_kernels_only = portable;
      const auto conversion = converter::Convert(options);
      REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
      CheckMemory(conversion->memory);
      CheckRun(*conversion, inputs, expected, {portable, 1});
      // The unfused plan has the same kernels; one run shows that it computes the same.
      if (!portable && fuse) {
        CheckRun(*conversion, inputs, expected, {portable, 2});
        const auto again = converter::Convert(options);
        REQUIRE(again.ok());
        CHECK_MESSAGE(again->plan == conversion->plan, "a second conversion gives other bytes");
      }
    }
  }
}

TEST_CASE("Models: every float model agrees with ONNX Runtime, however it is converted and run") {
  const fs::path models = SharedPath("models");
  if (models.empty()) return;
  for (const Model& model : kModels) {
    const fs::path folder = models / model.folder;
    CAPTURE(model.folder);
    CAPTURE(model.file);
    REQUIRE(fs::exists(folder));
    CheckModel(folder, model);
  }
}

}  // namespace
}  // namespace tenon::test
