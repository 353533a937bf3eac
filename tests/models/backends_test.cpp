// The float models of the shared folder on several backends at once: what OpenCL runs and what it
// lacks, and any mix of OpenCL and CPU that a priority table may give.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/field_models.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/random_tables.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

constexpr const char* kBoard = "x86-64-opencl";

struct Subject {
  const FloatModel* model = nullptr;
  Arrays inputs;
  Arrays expected;
};

/// Has so many kinds of shapes that PoCL compiles kernels for half a minute and more.
bool HasManyKernels(const FloatModel& model) {
  const std::string_view folder = model.folder;
  return folder == "googlenet_random" || folder == "fastestdet_352" || folder == "ultraface_rfb320";
}

std::vector<Subject> Subjects(const std::filesystem::path& models, bool with_many_kernels) {
  std::vector<Subject> subjects;
  for (const FloatModel& model : FloatModels()) {
    if (HasManyKernels(model) != with_many_kernels) continue;
    subjects.push_back(
        {&model, ReadArrays(models, model, "input"), ReadArrays(models, model, "output")});
    REQUIRE(!subjects.back().inputs.empty());
    REQUIRE(!subjects.back().expected.empty());
  }
  return subjects;
}

converter::Conversion ConvertFor(const std::filesystem::path& models, const Subject& subject,
                                 const converter::Board& board) {
  converter::ConvertOptions options;
  options.board = board;
  options.model = ModelPath(models, *subject.model);
  options.compile.order.mode = converter::OrderMode::kSource;
  auto conversion = converter::Convert(options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return std::move(*conversion);
}

void CheckAgrees(const converter::Conversion& conversion, const Subject& subject) {
  const RunResult result = RunPlan(conversion.plan, subject.inputs);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  REQUIRE(result.outputs.size() == subject.expected.size());
  for (size_t i = 0; i < subject.expected.size(); ++i) {
    CAPTURE(i);
    CHECK(Deviation(result.outputs[i], subject.expected[i]) <= 1);
  }
}

int TablesPerModel() {
  const char* given = std::getenv("TENON_RANDOM_TABLES");
  return given != nullptr ? std::atoi(given) : 1;
}

/// Checks that some of the ops run on OpenCL, and says which are lacking there.
void CheckOnOpencl(bool with_many_kernels) {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  const auto board = converter::LoadBoard(kBoard);
  REQUIRE(board.ok());
  std::map<std::string, std::set<std::string>> lacking;  // by kind of op
  for (const Subject& subject : Subjects(models, with_many_kernels)) {
    CAPTURE(subject.model->folder);
    CAPTURE(subject.model->file);
    const converter::Conversion conversion = ConvertFor(models, subject, *board);
    size_t on_device = 0;
    for (const converter::MappedOp& op : conversion.mapping) {
      if (op.backend == "opencl") {
        ++on_device;
        continue;
      }
      for (const converter::Candidate& candidate : op.candidates) {
        if (candidate.backend == "opencl") lacking[candidate.reason].insert(subject.model->folder);
      }
    }
    CHECK(on_device > 0);
    CheckAgrees(conversion, subject);
  }
  for (const auto& [reason, where] : lacking) {
    std::string text = fmt::format("on the CPU: {} (", reason);
    for (const std::string& model : where) text += fmt::format(" {}", model);
    MESSAGE(text << " )");
  }
}

void CheckOnRandomTables(bool with_many_kernels) {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  auto board = converter::LoadBoard(kBoard);
  REQUIRE(board.ok());
  const int tables = TablesPerModel();
  REQUIRE(tables > 0);
  size_t mixed = 0;
  for (const Subject& subject : Subjects(models, with_many_kernels)) {
    CAPTURE(subject.model->folder);
    CAPTURE(subject.model->file);
    for (int seed = 1; seed <= tables; ++seed) {
      CAPTURE(seed);
      board->priorities = RandomTable(static_cast<uint64_t>(seed));
      const converter::Conversion conversion = ConvertFor(models, subject, *board);
      std::set<std::string> backends;
      for (const converter::MappedOp& op : conversion.mapping) backends.insert(op.backend);
      mixed += backends.size() > 1 ? 1 : 0;
      CheckAgrees(conversion, subject);
    }
  }
  CHECK_MESSAGE(mixed > 0, "no table mixed backends");
}

TEST_CASE("Backends: every network of the field agrees on OpenCL, the CPU taking what it lacks") {
  const std::filesystem::path models = SharedPath("field-models");
  if (models.empty()) return;
  for (const FieldModel& model : FieldModels()) CheckFieldModel(models, model, kBoard, false);
}

TEST_CASE("Backends: float models agree on OpenCL, the CPU taking what OpenCL lacks") {
  CheckOnOpencl(/*with_many_kernels=*/false);
}

TEST_CASE("Backends: float models of many kernels agree on OpenCL") {
  CheckOnOpencl(/*with_many_kernels=*/true);
}

TEST_CASE(
    "Backends: models of integers have the CPU's bits on OpenCL, which can run all their ops") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  const auto board = converter::LoadBoard(kBoard);
  REQUIRE(board.ok());
  struct {
    const char* file;
    size_t input_bytes;
  } constexpr kIntegers[] = {{"mlperf_kws_dscnn/kws_int8.tflite", 49 * 10},
                             {"mlperf_resnet8_cifar10/resnet8_int8.tflite", 32 * 32 * 3},
                             {"mlperf_ad01_autoencoder/ad01_int8.tflite", 640}};
  for (const auto& [file, input_bytes] : kIntegers) {
    CAPTURE(file);
    converter::ConvertOptions options = OptionsFor();
    options.model = models / file;
    const auto on_cpu = converter::Convert(options);
    REQUIRE_MESSAGE(on_cpu.ok(), on_cpu.error().message);
    options.board = *board;
    options.compile.kernels.pins = {{"*", "opencl"}};  // the board's table prefers the CPU for them
    const auto on_device = converter::Convert(options);
    REQUIRE_MESSAGE(on_device.ok(), on_device.error().message);
    for (const converter::MappedOp& op : on_device->mapping) {
      CAPTURE(op.op);
      CHECK(op.backend == "opencl");
    }
    std::vector<std::byte> input(input_bytes);
    uint32_t random = 1;
    for (std::byte& byte : input) {
      random = random * 1664525U + 1013904223U;
      byte = static_cast<std::byte>(random >> 24U);
    }
    const RunResult expected = RunPlan(on_cpu->plan, {input});
    const RunResult result = RunPlan(on_device->plan, {input});
    REQUIRE_MESSAGE(expected.error.empty(), expected.error);
    REQUIRE_MESSAGE(result.error.empty(), result.error);
    CHECK(result.outputs == expected.outputs);
  }
}

TEST_CASE("Backends: float models agree on any mix that a random priority table gives") {
  CheckOnRandomTables(/*with_many_kernels=*/false);
}

TEST_CASE("Backends: float models of many kernels agree on any mix of a random priority table") {
  CheckOnRandomTables(/*with_many_kernels=*/true);
}

}  // namespace
}  // namespace tenon::test
