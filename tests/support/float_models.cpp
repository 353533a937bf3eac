#include "tests/support/float_models.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

constexpr FloatModel kModels[] = {
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
    {"dtln_noise_1", "model", ""},
    {"kwt1_transformer", "model", "model."},
};

/// The elements of a .npy file of numbers of 4 or 8 bytes, format 1.0.
std::vector<std::byte> ReadElements(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kPrefix = 10;  // magic, version, header length
  REQUIRE_MESSAGE(text.size() > kPrefix, path.string());
  const size_t header = static_cast<uint8_t>(text[8]) + 256U * static_cast<uint8_t>(text[9]);
  const std::string about = text.substr(kPrefix, header);
  const bool known = about.find("'<f4'") != std::string::npos ||
                     about.find("'<i4'") != std::string::npos ||
                     about.find("'<i8'") != std::string::npos;
  REQUIRE_MESSAGE(known, path.string());
  REQUIRE(text.size() >= kPrefix + header);
  const auto* data = reinterpret_cast<const std::byte*>(text.data()) + kPrefix + header;
  return {data, reinterpret_cast<const std::byte*>(text.data()) + text.size()};
}

float At(const std::vector<std::byte>& array, size_t index) {
  float value = 0;
  std::memcpy(&value, array.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

Span<const FloatModel> FloatModels() { return {kModels, std::size(kModels)}; }

fs::path ModelPath(const fs::path& models, const FloatModel& model) {
  return models / model.folder / fmt::format("{}.onnx", model.file);
}

Arrays ReadArrays(const fs::path& models, const FloatModel& model, const char* kind) {
  Arrays arrays;
  for (int i = 0;; ++i) {
    const fs::path path = models / model.folder / fmt::format("{}{}_{}.npy", model.prefix, kind, i);
    if (!fs::exists(path)) return arrays;
    arrays.push_back(ReadElements(path));
  }
}

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

}  // namespace tenon::test
