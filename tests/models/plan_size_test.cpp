// How large the plans of the shared folder's int8 models are, beside the weights and biases that
// the model files hold.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "converter/driver/import_model.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using converter::kNone;
using converter::Op;
using converter::TensorId;

constexpr const char* kInt8Models[] = {
    "mobilenet_v2_224/model_qdq.onnx",          "mlperf_kws_dscnn/model_qdq.onnx",
    "mlperf_resnet8_cifar10/model_qdq.onnx",    "mlperf_ad01_autoencoder/model_qdq.onnx",
    "shufflenet_v2_qlinear_int8/model.onnx",    "mobilenet_v2_224/model_ptq_uint8io.tflite",
    "mlperf_kws_dscnn/kws_int8.tflite",         "mlperf_resnet8_cifar10/resnet8_int8.tflite",
    "mlperf_ad01_autoencoder/ad01_int8.tflite",
};

bool IsGemm(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kMatMul || kind == OpKind::kQuantizedConv ||
         kind == OpKind::kQuantizedMatMul;
}

/// The constant that a weight or bias is made of, by dequantizing and moving; kNone if none.
TensorId ConstantBehind(const Graph& graph, TensorId id) {
  while (id != kNone && !graph.tensor(id).IsConstant()) {
    const auto producer = graph.tensor(id).producer;
    if (producer == kNone) return kNone;
    const Op& op = graph.op(producer);
    const bool is_same = op.kind == OpKind::kDequantize || op.kind == OpKind::kTranspose ||
                         op.kind == OpKind::kReshape;
    id = is_same ? op.inputs.front() : kNone;
  }
  return id;
}

/// Bytes of the weights and biases of all convolutions and matrix products as they are imported.
/// Biases that stand behind a product as an addition (none of a quantized model does) are not
/// found, which makes the bar lower.
int64_t WeightBytes(const std::filesystem::path& path) {
  const auto imported = converter::ImportModel(path, {}, converter::FoldTensors);
  REQUIRE_MESSAGE(imported.ok(), imported.error().message);
  const Graph& graph = *imported;
  std::set<TensorId> found;
  for (const converter::OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!IsGemm(op.kind)) continue;
    for (size_t i = 1; i < op.inputs.size() && i <= 2; ++i) {
      const TensorId constant = ConstantBehind(graph, op.inputs[i]);
      if (constant != kNone) found.insert(constant);
    }
  }
  int64_t bytes = 0;
  for (const TensorId id : found) bytes += graph.tensor(id).ByteSize();
  return bytes;
}

TEST_CASE("Models: plans of int8 models are little more than their weights") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const char* file : kInt8Models) {
    CAPTURE(file);
    converter::ConvertOptions options = OptionsFor();
    options.model = models / file;
    const int64_t weights = WeightBytes(options.model);
    REQUIRE(weights > 0);
    const auto conversion = converter::Convert(options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    const auto plan = static_cast<int64_t>(conversion->plan.size());
    const double most = 1.05 * static_cast<double>(weights) + 20 * 1024;
    MESSAGE(
        fmt::format("{}: weights {} bytes, plan {}, at most {:.0f}", file, weights, plan, most));
    CHECK(plan > weights);  // else something was not counted
    CHECK(static_cast<double>(plan) <= most);
  }
}

}  // namespace
}  // namespace tenon::test
