// One model over CPU, OpenCL and the FPGA's simulated board at once, as a pipeline.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

constexpr size_t kStreamedImages = 6;
constexpr size_t kImageBytes = 64 * sizeof(float);
constexpr size_t kOutputClasses = 10;

/// The data of a .npy file of the digit classifier.
std::vector<std::byte> DigitsData(const char* file) {
  const std::filesystem::path source = std::getenv("TENON_SOURCE_DIR");
  std::ifstream stream(source / "sdk/models/digits" / file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  REQUIRE(text.size() > 10);
  const size_t header = static_cast<uint8_t>(text[8]) + 256U * static_cast<uint8_t>(text[9]);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin + 10 + header, begin + text.size()};
}

/// Converts the digit classifier, quantized: convolutions of bytes, a softmax of f32 and what is
/// between them, which neither of the devices takes.
converter::Conversion ConvertDigits(const std::string& board, bool pipeline) {
  converter::ConvertOptions options = OptionsFor(board);
  options.model =
      std::filesystem::path(std::getenv("TENON_SOURCE_DIR")) / "sdk/models/digits/digits.onnx";
  options.import.batch = 1;
  options.quantize.emplace();
  constexpr int64_t kHeldOut = 360;
  options.quantize->arrays = {
      {"images", DType::kF32, {kHeldOut, 1, 8, 8}, DigitsData("held_out_images.npy")}};
  if (pipeline) {
    options.compile.objective = converter::Objective::kThroughput;
    options.parallel.mode = converter::ParallelMode::kPipeline;
    options.parallel.keep_table = true;
  }
  auto conversion = converter::Convert(options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return std::move(*conversion);
}

std::vector<std::byte> Image(size_t number) {
  const std::vector<std::byte> images = DigitsData("held_out_images.npy");
  const auto begin = images.begin() + static_cast<int64_t>(number * kImageBytes);
  return {begin, begin + static_cast<int64_t>(kImageBytes)};
}

/// The outputs of a stream of images, all under way at once.
std::vector<std::vector<std::byte>> StreamImages(const std::vector<uint8_t>& bytes) {
  const std::filesystem::path path =
      std::filesystem::path(std::getenv("TENON_BINARY_DIR")) / "fpga_opencl_pipeline_test.tenon";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  tenon_plan* plan = nullptr;
  tenon_error error{};
  const auto opened = tenon_plan_open_program(path.c_str(), "pipeline", nullptr, 1, &plan, &error);
  REQUIRE_MESSAGE(opened == TENON_OK, error.message);
  std::vector<std::vector<std::byte>> outputs;
  {
    const StreamForTest stream(plan, OptionsOf(TENON_STREAM_PIPELINE));
    std::vector<Job> jobs;
    for (size_t i = 0; i < kStreamedImages; ++i) jobs.push_back(JobFor(plan, {Image(i)}));
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (const Job& job : jobs) {
      CHECK(Await(stream, job.ticket) == "");
      outputs.push_back(job.outputs.front());
    }
  }
  tenon_plan_close(plan);
  std::filesystem::remove(path);
  return outputs;
}

float LargestDifference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  float x[kOutputClasses];
  float y[kOutputClasses];
  REQUIRE(a.size() == sizeof x);
  REQUIRE(b.size() == sizeof y);
  std::memcpy(x, a.data(), sizeof x);
  std::memcpy(y, b.data(), sizeof y);
  float largest = 0;
  for (size_t i = 0; i < kOutputClasses; ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

TEST_CASE("three backends: each has stages of one pipeline, by the board's table") {
  const converter::Conversion made = ConvertDigits("x86-64-opencl-fpga", /*pipeline=*/true);
  REQUIRE(made.parallel.pipeline.has_value());
  std::set<std::string> units;
  for (const auto& stage : made.parallel.pipeline->stages) units.insert(stage.unit);
  CHECK(units == std::set<std::string>{"cpu", "fpga", "opencl"});
  CHECK(made.ops_by_backend.size() == 3);
  // Alone only the CPU can run it, and the report says what that would take.
  CHECK(made.parallel.pipeline->best_alone == "cpu");
  CHECK(made.parallel.pipeline->alone > 0);
}

TEST_CASE("three backends: a stream through all of them gives what the CPU alone gives") {
  const std::vector<uint8_t> cpu = ConvertDigits("x86-64", /*pipeline=*/false).plan;
  const auto streamed = StreamImages(ConvertDigits("x86-64-opencl-fpga", /*pipeline=*/true).plan);
  REQUIRE(streamed.size() == kStreamedImages);
  for (size_t i = 0; i < kStreamedImages; ++i) {
    CAPTURE(i);
    const RunResult alone = RunPlan(cpu, {Image(i)});
    REQUIRE(alone.error == "");
    // Everything up to the logits is exact; the softmax's exponentials are OpenCL's own.
    CHECK(LargestDifference(streamed[i], alone.outputs.front()) < 1e-6F);
    if (i > 0) CHECK(LargestDifference(streamed[i], streamed[0]) > 1e-3F);
  }
}

}  // namespace
}  // namespace tenon::test
