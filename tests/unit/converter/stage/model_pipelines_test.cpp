// Real models as pipelines over two cores, and over OpenCL and the CPU, run as streams, against
// ONNX Runtime's outputs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

/// What is wrong with the outputs of a few inputs under way at once, in words.
std::string StreamModel(const std::vector<uint8_t>& plan_bytes, const Arrays& inputs,
                        const Arrays& expected) {
  const char* folder = std::getenv("TENON_BINARY_DIR");
  const std::filesystem::path path =
      std::filesystem::path(folder != nullptr ? folder : ".") / "model_pipelines_test.tenon";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(plan_bytes.data()),
             static_cast<std::streamsize>(plan_bytes.size()));
  tenon_plan* plan = nullptr;
  tenon_error error{};
  std::string wrong;
  if (tenon_plan_open_program(path.c_str(), "pipeline", nullptr, 1, &plan, &error) != TENON_OK) {
    return error.message;
  }
  {
    const StreamForTest stream(plan, OptionsOf(TENON_STREAM_PIPELINE));
    std::vector<Job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(JobFor(plan, inputs));
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (const Job& job : jobs) {
      if (const std::string failed = Await(stream, job.ticket); !failed.empty()) wrong = failed;
      for (size_t i = 0; wrong.empty() && i < expected.size(); ++i) {
        const double deviation = Deviation(job.outputs[i], expected[i]);
        if (!(deviation <= 1)) wrong = fmt::format("output {}: deviation {}", i, deviation);
      }
    }
  }
  tenon_plan_close(plan);
  std::filesystem::remove(path);
  return wrong;
}

converter::Result<converter::Conversion> TryPipeline(const std::filesystem::path& models,
                                                     const FloatModel& model, const char* board,
                                                     int threads) {
  converter::ConvertOptions options = OptionsFor(board);
  options.model = ModelPath(models, model);
  options.compile.order.budget = options.compile.arena.place.work_budget = 20'000;
  options.compile.objective = converter::Objective::kThroughput;
  options.parallel.mode = converter::ParallelMode::kPipeline;
  options.parallel.threads = threads;
  return converter::Convert(options);
}

converter::Conversion ConvertAsPipeline(const std::filesystem::path& models,
                                        const FloatModel& model, const char* board, int threads) {
  auto conversion = TryPipeline(models, model, board, threads);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  REQUIRE(conversion->parallel.pipeline.has_value());
  CHECK(conversion->parallel.pipeline->stages.size() >= 2);
  return std::move(*conversion);
}

TEST_CASE("Pipelines: every float model over two cores gives ONNX Runtime's outputs") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  int worth_it = 0;
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(std::string(model.folder));
    const converter::Conversion conversion = ConvertAsPipeline(models, model, "x86-64", 2);
    const converter::PipelineReport& report = *conversion.parallel.pipeline;
    CHECK(static_cast<double>(report.period) <= 1.03 * static_cast<double>(report.bound));
    // A model of a few microseconds loses by being handed over; asked for, it is a pipeline still.
    constexpr converter::Picoseconds kLong = 200'000'000;
    if (conversion.time.after > kLong) {
      CHECK(static_cast<double>(report.period) < 0.8 * static_cast<double>(conversion.time.after));
      ++worth_it;
    }
    CHECK(StreamModel(conversion.plan, ReadArrays(models, model, "input"),
                      ReadArrays(models, model, "output")) == "");
  }
  CHECK(worth_it >= 3);
}

TEST_CASE("Pipelines: every float model over OpenCL and the CPU gives ONNX Runtime's outputs") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  if (tenon_backend_opencl() == nullptr) {
    MESSAGE("skipped: this build has no OpenCL");
    return;
  }
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(std::string(model.folder));
    const converter::Conversion conversion = ConvertAsPipeline(models, model, "x86-64-opencl", 1);
    CHECK(StreamModel(conversion.plan, ReadArrays(models, model, "input"),
                      ReadArrays(models, model, "output")) == "");
  }
}

TEST_CASE("Pipelines: float models whose constants npu-3unit's DMA unit fetches beside its ops") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  int helped = 0;
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(std::string(model.folder));
    // Most change between matrix and vector unit more often than there may be stages.
    const auto conversion = TryPipeline(models, model, "npu-3unit", 2);
    if (!conversion.ok()) {
      CHECK(conversion.error().message.find("change units more often") != std::string::npos);
      continue;
    }
    const converter::PipelineReport& report = *conversion->parallel.pipeline;
    CHECK(static_cast<double>(report.period) <= 1.02 * static_cast<double>(report.overlap_bound));
    CHECK(report.period < report.period_without_engine);
    CHECK(StreamModel(conversion->plan, ReadArrays(models, model, "input"),
                      ReadArrays(models, model, "output")) == "");
    ++helped;
  }
  CHECK(helped >= 2);
}

}  // namespace
}  // namespace tenon::test
