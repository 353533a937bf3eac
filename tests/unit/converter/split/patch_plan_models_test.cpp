// How small the arenas of real models become, by whole conversions.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

namespace fs = std::filesystem;

Graph Load(const fs::path& path, const ImportOptions& import = {}) {
  auto graph = ImportOnnx(path, import, FoldTensors);
  if (!graph.ok()) FAIL(graph.error().message);
  std::vector<PassReport> reports;
  const Status status = Canonicalise(*graph, /*fuse=*/true, reports);
  if (!status.ok()) FAIL(status.error().message);
  return std::move(*graph);
}

int64_t PortBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Graph::Port& port : graph.inputs()) bytes += graph.tensor(port.tensor).ByteSize();
  for (const Graph::Port& port : graph.outputs()) bytes += graph.tensor(port.tensor).ByteSize();
  return bytes;
}

int64_t Arena(const Graph& graph) {
  const auto bytes = MeasureWith({})(graph, {});
  if (!bytes.ok()) FAIL(bytes.error().message);
  return bytes->bytes;
}

/// Cuts the model until its arena, with the kernels that a conversion takes, is at most `limit`;
/// then portable kernels give the same values bit by bit.
void CheckFit(const Graph& graph, int64_t limit) {
  CAPTURE(limit);
  Graph fitted = graph;
  const auto fit = FitMemory(fitted, limit, {}, MeasureWith({}));
  REQUIRE_MESSAGE(fit.ok(), fit.error().message);
  CHECK(fit->measured_bytes <= limit);
  CHECK(Arena(fitted) == fit->measured_bytes);
  CHECK(!fit->split.chains.empty());
  const auto inputs = test::RandomInputs(graph, 3);
  CHECK(test::OutputsOf(fitted, inputs) == test::OutputsOf(graph, inputs));
}

TEST_CASE("Model arenas: MobileNetV2 runs in a quarter of its unsplit arena, input included") {
  const fs::path path = test::SharedPath("models/mobilenet_v2_224/model_fp32.onnx");
  if (path.empty()) return;
  const Graph graph = Load(path);
  CHECK(Arena(graph) == 6'021'120);
  CheckFit(graph, 6'021'120 / 4);
}

TEST_CASE("Model arenas: super-resolution runs in an eighth, besides input and output") {
  const fs::path path = test::SharedPath("models/super_resolution_espcn/model.onnx");
  if (path.empty()) return;
  const Graph graph = Load(path);
  CheckFit(graph, Arena(graph) / 8 + PortBytes(graph));
}

TEST_CASE("Model arenas: UltraFace runs in an eighth, besides input and outputs") {
  const fs::path path = test::SharedPath("models/ultraface_rfb320/model.onnx");
  if (path.empty()) return;
  const Graph graph = Load(path);
  CHECK(Arena(graph) == 3'686'400);
  CheckFit(graph, 3'686'400 / 8 + PortBytes(graph));
}

TEST_CASE("Model arenas: ResNet20 at batch 8 runs in what one image needs, and its inputs") {
  const fs::path path = test::SharedPath("models/resnet20_cifar10/model.onnx");
  if (path.empty()) return;
  const Graph one = Load(path);
  ImportOptions import;
  import.shapes[one.inputs()[0].name] = {8, 3, 32, 32};
  const Graph eight = Load(path, import);
  CheckFit(eight, Arena(one) + PortBytes(eight));
}

/// MobileNetV2's reshape before its output names the batch; the copy leaves it open.
fs::path WithOpenBatch(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string shape("\x01\0\0\0\0\0\0\0\xE9\x03\0\0\0\0\0\0", 16);  // 1, 1001
  const size_t at = bytes.find(shape);
  REQUIRE(at != std::string::npos);
  bytes.replace(at, 8, std::string(8, '\xFF'));
  const fs::path copy = fs::temp_directory_path() / "tenon_mobilenet_open_batch.onnx";
  std::ofstream(copy, std::ios::binary) << bytes;
  return copy;
}

TEST_CASE("Model arenas: MobileNetV2 at batch 8 runs in what one image needs, and its inputs") {
  const fs::path path = test::SharedPath("models/mobilenet_v2_224/model_fp32.onnx");
  if (path.empty()) return;
  const fs::path open = WithOpenBatch(path);
  const Graph one = Load(path);
  ImportOptions import;
  import.shapes[one.inputs()[0].name] = {8, 3, 224, 224};
  const Graph eight = Load(open, import);
  fs::remove(open);
  CheckFit(eight, Arena(one) + PortBytes(eight));
}

TEST_CASE("Model arenas: the smallest of every model is below its unsplit one, or nothing is cut") {
  const fs::path models = test::SharedPath("models");
  if (models.empty()) return;
  for (const std::string name :
       {"mnist_cnn/mnist", "mlperf_kws_dscnn/model_fp32", "mlperf_resnet8_cifar10/model_fp32",
        "mlperf_ad01_autoencoder/model_fp32", "resnet20_cifar10/model", "squeezenet1.1/model_fp32",
        "googlenet_random/model", "fastestdet_352/model", "kwt1_transformer/model"}) {
    CAPTURE(name);
    const Graph graph = Load(models / (name + ".onnx"));
    Graph fitted = graph;
    MeasureOptions lean;
    lean.most_workspace = 0;
    const auto unsplit = MeasureWith(lean)(graph, {});
    REQUIRE(unsplit.ok());
    const auto fit = FitMemory(fitted, 0, {}, MeasureWith(lean));
    REQUIRE(fit.ok());
    CHECK((fit->split.chains.empty() ? fit->measured_bytes == unsplit->bytes
                                     : fit->measured_bytes < unsplit->bytes));
    MESSAGE(name << ": " << unsplit->bytes << " -> " << fit->measured_bytes);
    const auto inputs = test::RandomInputs(graph, 5);
    CHECK(test::OutputsOf(fitted, inputs) == test::OutputsOf(graph, inputs));
  }
}

}  // namespace
}  // namespace tenon::converter
