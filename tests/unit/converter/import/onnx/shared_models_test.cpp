// The real models of the shared folder.
#include <doctest/doctest.h>

#include <map>

#include "converter/import/onnx/onnx_import.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/shared_folder.hpp"

namespace tenon::converter::test {
namespace {

namespace fs = std::filesystem;

/// Models that need operators which Tenon does not have (yet): recurrent ones.
constexpr const char* kRefused[] = {"dtln_noise_1/model.onnx"};

std::vector<std::string> AllModels(const fs::path& folder) {
  std::vector<std::string> models;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") {
      models.push_back(fs::relative(entry.path(), folder).string());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

bool IsRefused(const std::string& model) {
  return std::find(std::begin(kRefused), std::end(kRefused), model) != std::end(kRefused);
}

}  // namespace

TEST_CASE("Shared models: every model is imported, with the shapes that libonnx infers") {
  const fs::path shared = SharedFolder();
  if (shared.empty()) return;
  for (const std::string& model : AllModels(shared / "models")) {
    CAPTURE(model);
    ImportOptions options;
    options.batch = 0;
    std::vector<std::string> differences;
    auto graph = ImportOnnxCrossChecked(shared / "models" / model, options, FoldWithPortableKernels,
                                        differences);
    if (!graph.ok() && graph.error().message.find("--batch 1") != std::string::npos) {
      options.batch = 1;
      differences.clear();
      graph = ImportOnnxCrossChecked(shared / "models" / model, options, FoldWithPortableKernels,
                                     differences);
    }
    if (IsRefused(model)) {
      REQUIRE(!graph.ok());
      CHECK(graph.error().kind == ErrorKind::kInput);
      REQUIRE(!graph.error().details.empty());
      CHECK(graph.error().details[0].starts_with("unsupported op"));
      continue;
    }
    CHECK_MESSAGE(graph.ok(), graph.error().message);
    for (const std::string& difference : differences) MESSAGE(difference);
    CHECK(differences.empty());
    if (!graph.ok()) continue;
    CHECK(!graph->inputs().empty());
    CHECK(!graph->outputs().empty());
    MESSAGE(model, ": ", graph->OpOrder().size(), " ops");
  }
}

}  // namespace tenon::converter::test
