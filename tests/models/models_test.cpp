// The float models of the shared folder, converted and run in every way, against the outputs that
// ONNX Runtime gave for the same inputs.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

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

void CheckFloatModel(const std::filesystem::path& models, const FloatModel& model) {
  converter::ConvertOptions options = OptionsFor();
  options.model = ModelPath(models, model);
  const Arrays inputs = ReadArrays(models, model, "input");
  const Arrays expected = ReadArrays(models, model, "output");
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
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(model.folder);
    CAPTURE(model.file);
    REQUIRE(std::filesystem::exists(ModelPath(models, model)));
    CheckFloatModel(models, model);
  }
}

}  // namespace
}  // namespace tenon::test
