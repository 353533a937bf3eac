// The real models of the shared folder.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "converter/import/onnx/onnx_import.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/shared_folder.hpp"

namespace tenon::converter::test {
namespace {

namespace fs = std::filesystem;

/// Models that are imported. What else lies in the folder is for other tests, or for none yet.
constexpr const char* kImported[] = {
    "fastestdet_352/model.onnx",
    "dtln_noise_1/model.onnx",
    "googlenet_random/model.onnx",
    "kwt1_transformer/model.onnx",
    "mlperf_ad01_autoencoder/model_fp32.onnx",
    "mlperf_ad01_autoencoder/model_qdq.onnx",
    "mlperf_kws_dscnn/model_fp32.onnx",
    "mlperf_kws_dscnn/model_qdq.onnx",
    "mlperf_resnet8_cifar10/model_fp32.onnx",
    "mlperf_resnet8_cifar10/model_qdq.onnx",
    "mnist_cnn/mnist.onnx",
    "mobilenet_v2_224/model_fp32.onnx",
    "mobilenet_v2_224/model_qdq.onnx",
    "resnet20_cifar10/model.onnx",
    "shufflenet_v2_qlinear_int8/model.onnx",
    "squeezenet1.1/model_fp16.onnx",
    "squeezenet1.1/model_fp32.onnx",
    "super_resolution_espcn/model.onnx",
    "ultraface_rfb320/model.onnx",
    "ultraface_rfb320/model_simplified.onnx",
};

/// A model's path; empty, with a message, where it is absent.
fs::path ModelPath(const fs::path& shared, const char* model) {
  const fs::path path = shared / "models" / model;
  if (fs::exists(path)) return path;
  MESSAGE("skipped: no '" << model << "' in the shared folder");
  return {};
}

/// Imports a model, with a batch of 1 where it wants one.
Result<Graph> Import(const fs::path& path, std::vector<std::string>& differences) {
  ImportOptions options;
  options.batch = 0;
  auto graph = ImportOnnxCrossChecked(path, options, FoldWithPortableKernels, differences);
  if (graph.ok() || graph.error().message.find("--batch 1") == std::string::npos) return graph;
  options.batch = 1;
  differences.clear();
  return ImportOnnxCrossChecked(path, options, FoldWithPortableKernels, differences);
}

}  // namespace

TEST_CASE("Shared models: those of the list are imported, with the shapes that libonnx infers") {
  const fs::path shared = SharedFolder();
  if (shared.empty()) return;
  for (const char* model : kImported) {
    CAPTURE(model);
    const fs::path path = ModelPath(shared, model);
    if (path.empty()) continue;
    std::vector<std::string> differences;
    const Result<Graph> graph = Import(path, differences);
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
