// Real models under working set limits: every op really fits, and results stay what they were.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/split/working_set.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::converter {
namespace {

const char* const kModels[] = {
    "mnist_cnn/mnist.onnx",
    "mobilenet_v2_224/model_fp32.onnx",
    "squeezenet1.1/model_fp32.onnx",
    "resnet20_cifar10/model.onnx",
    "googlenet_random/model.onnx",
    "ultraface_rfb320/model.onnx",
    "fastestdet_352/model.onnx",
    "super_resolution_espcn/model.onnx",
    "mlperf_kws_dscnn/model_fp32.onnx",
    "mlperf_resnet8_cifar10/model_fp32.onnx",
    "mlperf_ad01_autoencoder/model_fp32.onnx",
    "kwt1_transformer/model.onnx",
};

Graph LoadBatch(const std::filesystem::path& path, int32_t batch = 1) {
  ImportOptions options;
  Result<Graph> graph = ImportOnnx(path, options, FoldTensors);
  if (graph.ok() && batch > 1) {
    const Graph::Port& port = graph->inputs()[0];
    const Shape& shape = graph->tensor(port.tensor).shape;
    std::vector<int64_t>& dims = options.shapes[port.name];
    dims.assign(shape.dims, shape.dims + shape.rank);
    dims[0] = batch;
    graph = ImportOnnx(path, options, FoldTensors);
  }
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().message));
  std::vector<PassReport> reports;
  REQUIRE(Canonicalise(*graph, true, reports).ok());
  return std::move(*graph);
}

/// Recomputed from the tensors alone; views touch nothing.
int64_t BytesTouched(const Graph& graph, const Op& op, bool counts_constants) {
  if (op.kind == OpKind::kConcat || op.kind == OpKind::kSlice || op.kind == OpKind::kReshape ||
      op.kind == OpKind::kExpand || op.kind == OpKind::kCopy) {
    return 0;
  }
  std::map<TensorId, int64_t> touched;
  for (const std::vector<TensorId>& ids : {op.inputs, op.outputs}) {
    for (const TensorId tensor : ids) {
      if (tensor == kNone) continue;
      if (graph.tensor(tensor).IsConstant() && !counts_constants) continue;
      touched[tensor] = graph.tensor(tensor).ByteSize();
    }
  }
  int64_t bytes = 0;
  for (const auto& [tensor, size] : touched) bytes += size;
  return bytes;
}

int64_t Largest(const Graph& graph, bool counts_constants) {
  int64_t largest = 0;
  for (const OpId id : graph.OpOrder()) {
    largest = std::max(largest, BytesTouched(graph, graph.op(id), counts_constants));
  }
  return largest;
}

TEST_CASE("Models: under 2 MiB, 512 KiB and 128 KiB every op's working set fits") {
  for (const char* model : kModels) {
    const std::filesystem::path path = test::SharedPath(std::string("models/") + model);
    if (path.empty()) continue;
    const Graph whole = LoadBatch(path);
    for (const bool stages : {false, true}) {
      for (const int64_t limit : {2 << 20, 512 << 10, 128 << 10}) {
        CAPTURE(std::string(model));
        CAPTURE(limit);
        CAPTURE(stages);
        Graph graph = whole;
        SplitReport report;
        WorkingSetLimit limits = UniformLimit(limit, stages);
        limits.splitting.most_parts = 1024;
        const Status status = SplitToWorkingSet(graph, limits, report);
        REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message));
        CHECK(Verify(graph).ok());
        CHECK(Largest(graph, stages) <= limit);
        CHECK((Largest(whole, stages) > limit) == (report.ops_split > 0));
      }
    }
  }
}

TEST_CASE("Models: on every board every op's working set fits the space that it runs from") {
  const std::vector<Board> boards = BuiltInBoards();
  CHECK(boards.size() >= 2);
  int splits = 0;
  for (const char* model : kModels) {
    const std::filesystem::path path = test::SharedPath(std::string("models/") + model);
    if (path.empty()) continue;
    const Graph whole = LoadBatch(path);
    for (const Board& board : boards) {
      CAPTURE(std::string(model));
      CAPTURE(board.name);
      KernelChoiceOptions kernels;
      kernels.board = &board;
      const WorkingSetLimit limit = WorkingSetLimitOf(kernels);
      Graph graph = whole;
      SplitReport report;
      const Status status = SplitToWorkingSet(graph, limit, report);
      REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message));
      CHECK(Verify(graph).ok());
      splits += static_cast<int>(report.splits.size());
      for (const OpId id : graph.OpOrder()) {
        const Op& op = graph.op(id);
        const WorkingSpace space = limit.space_of(graph, op);
        CHECK(space.name != "");
        CHECK(BytesTouched(graph, op, space.stages_constants) <= space.bytes);
      }
    }
  }
  CHECK(splits > 20);
}

/// Evaluates whole and split; `tolerance` 0: every bit must be the same.
void CheckEqual(const char* model, int32_t batch, int64_t limit, bool accumulate,
                double tolerance) {
  const std::filesystem::path path = test::SharedPath(std::string("models/") + model);
  if (path.empty()) return;
  const Graph whole = LoadBatch(path, batch);
  const auto inputs = test::RandomInputs(whole, 5);
  const test::Evaluation expected = test::EvaluateGraph(whole, inputs);
  REQUIRE(expected.error == "");
  Graph graph = whole;
  WorkingSetLimit limits = UniformLimit(limit, true);
  limits.accumulate = accumulate;
  limits.splitting.most_parts = 1024;
  SplitReport report;
  const Status status = SplitToWorkingSet(graph, limits, report);
  REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message));
  CHECK(report.ops_split > 4);
  const bool adds_up =
      std::any_of(report.splits.begin(), report.splits.end(),
                  [](const SplitRecord& split) { return split.dimension == "input_channel"; });
  CHECK(adds_up == accumulate);
  const test::Evaluation split = test::EvaluateGraph(graph, inputs);
  REQUIRE(split.error == "");
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& actual = split.values.at(graph.outputs()[i].tensor);
    const auto& wanted = expected.values.at(whole.outputs()[i].tensor);
    if (tolerance == 0) {
      CHECK(actual == wanted);
    } else {
      CHECK(test::RelativeDifference(actual, wanted) < tolerance);
    }
  }
}

TEST_CASE("ResNet20 under 24 KiB, staged weights included, is bit-equal") {
  CheckEqual("resnet20_cifar10/model.onnx", 1, 24 << 10, false, 0);
}

TEST_CASE("ResNet20 at batch 8 under 64 KiB is bit-equal") {
  CheckEqual("resnet20_cifar10/model.onnx", 8, 64 << 10, false, 0);
}

TEST_CASE("MobileNetV2 under 128 KiB, staged weights included, is bit-equal") {
  CheckEqual("mobilenet_v2_224/model_fp32.onnx", 1, 128 << 10, false, 0);
}

TEST_CASE("MobileNetV2 under 128 KiB with sums over input channels cut agrees within rounding") {
  CheckEqual("mobilenet_v2_224/model_fp32.onnx", 1, 128 << 10, true, 1e-4);
}

TEST_CASE("Super-resolution under 512 KiB is bit-equal, through its pixel shuffle") {
  CheckEqual("super_resolution_espcn/model.onnx", 1, 512 << 10, false, 0);
}

TEST_CASE("The transformer under 48 KiB is bit-equal") {
  CheckEqual("kwt1_transformer/model.onnx", 1, 48 << 10, false, 0);
}

TEST_CASE("ResNet20 at batch 8 fits into the working set of batch 1, split along the batch alone") {
  const std::filesystem::path path = test::SharedPath("models/resnet20_cifar10/model.onnx");
  if (path.empty()) return;
  const int64_t single = Largest(LoadBatch(path), false);
  Graph graph = LoadBatch(path, 8);
  CHECK(Largest(graph, false) == 8 * single);
  SplitReport report;
  REQUIRE(SplitToWorkingSet(graph, UniformLimit(single, false), report).ok());
  CHECK(Largest(graph, false) == single);
  for (const SplitRecord& split : report.splits) CHECK(split.dimension == "batch");
}

TEST_CASE("MobileNetV2 under 512 KiB becomes a plan whose slices and joins are views") {
  const std::filesystem::path path = test::SharedPath("models/mobilenet_v2_224/model_fp32.onnx");
  if (path.empty()) return;
  Graph graph = LoadBatch(path);
  const auto inputs = test::RandomInputs(graph, 5);
  const TensorId output = graph.outputs()[0].tensor;
  const std::vector<std::byte> wanted = test::EvaluateGraph(graph, inputs).values.at(output);
  SplitReport report;
  REQUIRE(SplitToWorkingSet(graph, UniformLimit(512 << 10, false), report).ok());
  size_t working = 0;
  for (const OpId id : graph.OpOrder()) working += HasWorkingSet(graph.op(id).kind) ? 1U : 0U;
  ConvertOptions options = test::OptionsFor();
  options.compile.order.mode = OrderMode::kSource;
  const Result<Conversion> conversion = ConvertGraph(graph, options);
  REQUIRE_MESSAGE(conversion.ok(), (conversion.ok() ? "" : conversion.error().message));
  CHECK(working > 120);
  CHECK(conversion->ops_executed <= working);
  const test::RunResult run = test::RunPlan(conversion->plan, inputs);
  REQUIRE(run.error == "");
  CHECK(test::RelativeDifference(run.outputs[0], wanted) < 1e-5);
}

}  // namespace
}  // namespace tenon::converter
