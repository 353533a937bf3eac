// Graphs of many ops: conversions take time in proportion, need no deep stack, and give plans that
// load and compute what small graphs would.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/scale_model.hpp"

namespace tenon::test {
namespace {

converter::Result<converter::Conversion> ConvertScale(ScaleShape shape, int ops, bool fuse = true) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      fmt::format("tenon-scale-{}-{}.onnx", kScaleShapeNames[static_cast<size_t>(shape)], ops);
  {
    std::ofstream stream(path, std::ios::binary);
    REQUIRE(MakeScaleModel(shape, ops).SerializeToOstream(&stream));
  }
  converter::ConvertOptions options = OptionsFor();
  options.model = path;
  options.fuse = fuse;
  auto conversion = converter::Convert(options);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return conversion;
}

TEST_CASE("Convert: a chain of 20,000 ops overflows no stack") {
  const auto conversion = ConvertScale(ScaleShape::kChain, 20'000);
  REQUIRE(conversion.ok());
  CHECK(conversion->ops_imported == 20'000);
  CHECK(LoadPlan(conversion->plan).empty());
}

TEST_CASE("Convert: ten times the ops take no more than about ten times the time") {
  for (size_t i = 0; i < kScaleShapeNames.size(); ++i) {
    CAPTURE(std::string(kScaleShapeNames[i]));
    const auto seconds = [&](int ops) {
      const std::clock_t start = std::clock();
      const auto conversion = ConvertScale(static_cast<ScaleShape>(i), ops);
      REQUIRE(conversion.ok());
      return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    // Far from what is measured on a quiet machine, near enough to tell a square from a line.
    CHECK(seconds(5000) < 40 * seconds(500) + 2);
  }
}

TEST_CASE("Convert: every shape of graph computes the same, fused or not") {
  for (size_t i = 0; i < kScaleShapeNames.size(); ++i) {
    CAPTURE(std::string(kScaleShapeNames[i]));
    const auto fused = ConvertScale(static_cast<ScaleShape>(i), 300);
    const auto plain = ConvertScale(static_cast<ScaleShape>(i), 300, /*fuse=*/false);
    REQUIRE(fused.ok());
    REQUIRE(plain.ok());
    std::vector<std::vector<std::byte>> inputs(1);
    for (int k = 0; k < 64; ++k) {
      const float value = static_cast<float>(k % 13) / 6.5F - 1.0F;
      const auto bytes = std::bit_cast<std::array<std::byte, sizeof value>>(value);
      inputs[0].insert(inputs[0].end(), bytes.begin(), bytes.end());
    }
    const RunResult a = RunPlan(fused->plan, inputs);
    const RunResult b = RunPlan(plain->plan, inputs, {/*portable=*/true, 1, false});
    REQUIRE(a.error.empty());
    REQUIRE(b.error.empty());
    REQUIRE(a.outputs.size() == b.outputs.size());
    for (size_t k = 0; k < a.outputs.size(); ++k) {
      CHECK(RelativeDifference(a.outputs[k], b.outputs[k]) < 1e-4);
    }
  }
}

}  // namespace
}  // namespace tenon::test
