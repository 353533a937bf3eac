// The quantized ONNX models of the shared folder against the outputs that ONNX Runtime gave, in
// steps of the output's scale.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "converter/driver/import_model.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/ir/elements.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

using converter::Graph;

struct QuantizedModel {
  FloatModel model;
  size_t beyond_one;  ///< elements that differ by more than a step
};

// The references of QDQ models were computed in floats, whose sums are not exact: of the 6 million
// numbers that MobileNetV2 rounds on its way some twenty lie within 0.00004 of a tie and come out
// otherwise. One step of a logit, 0.063, is four of the softmax's 1/256 where a class is likely.
constexpr QuantizedModel kQuantizedModels[] = {
    {{"mobilenet_v2_224", "model_qdq", "model_qdq."}, 2},
    {{"mlperf_kws_dscnn", "model_qdq", "model_qdq."}, 0},
    {{"mlperf_resnet8_cifar10", "model_qdq", "model_qdq."}, 0},
    {{"mlperf_ad01_autoencoder", "model_qdq", "model_qdq."}, 0},
    {{"shufflenet_v2_qlinear_int8", "model", ""}, 0},
};

/// The scale of the dequantize op that makes the model's output.
double OutputStep(const std::filesystem::path& path) {
  const auto graph = converter::ImportModel(path, {}, converter::FoldTensors);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Graph& read = *graph;
  const auto& last = read.op(read.tensor(read.outputs().front().tensor).producer);
  REQUIRE(last.kind == OpKind::kDequantize);
  return converter::ReadElements(read.tensor(last.inputs[1])).front();
}

/// What of the final graph gives floats: kinds in order of execution.
std::vector<std::string> FloatKinds(const std::string& graph_text) {
  std::vector<std::string> kinds;
  std::istringstream lines(graph_text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (line.empty() || line[0] != '%' || equals == std::string::npos) continue;
    if (line.find(": f32[") >= equals) continue;
    kinds.push_back(line.substr(equals + 3, line.find('(') - equals - 3));
  }
  return kinds;
}

struct Agreement {
  size_t elements = 0;
  size_t differing = 0;   ///< at all
  size_t beyond_one = 0;  ///< by more than one step
  double most = 0;        ///< steps
};

Agreement Compare(const std::vector<std::byte>& got, const std::vector<std::byte>& expected,
                  double step) {
  Agreement agreement;
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); i += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, got.data() + i, sizeof x);
    std::memcpy(&y, expected.data() + i, sizeof y);
    const double steps = std::abs(double{x} - double{y}) / step;
    REQUIRE(std::isfinite(steps));
    ++agreement.elements;
    if (steps > 0.01) ++agreement.differing;
    if (steps > 1.01) ++agreement.beyond_one;
    agreement.most = std::max(agreement.most, steps);
  }
  return agreement;
}

/// Adds what the model's output has in common with its reference to `all`.
void CheckModel(const std::filesystem::path& models, const QuantizedModel& quantized,
                Agreement& all) {
  const FloatModel& model = quantized.model;
  converter::ConvertOptions options = OptionsFor();
  options.model = ModelPath(models, model);
  const Arrays inputs = ReadArrays(models, model, "input");
  const Arrays expected = ReadArrays(models, model, "output");
  REQUIRE(!inputs.empty());
  REQUIRE(expected.size() == 1);
  const double step = OutputStep(options.model);
  std::vector<std::byte> first;
  for (const bool portable : {false, true}) {
    CAPTURE(portable);
    options.board.units[0].portable_kernels_only = portable;
    const auto conversion = converter::Convert(options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    for (const std::string& kind : FloatKinds(conversion->graph_text)) {
      CAPTURE(kind);
      CHECK((kind == "dequantize" || kind == "copy"));
    }
    const RunResult result = RunPlan(conversion->plan, inputs, {portable, 1});
    REQUIRE_MESSAGE(result.error.empty(), result.error);
    const Agreement agreement = Compare(result.outputs[0], expected[0], step);
    MESSAGE(fmt::format("{}{}: of {} elements {} differ, {} by more than a step, the most {:.1f}",
                        model.folder, portable ? " (portable)" : "", agreement.elements,
                        agreement.differing, agreement.beyond_one, agreement.most));
    CHECK(agreement.beyond_one <= quantized.beyond_one);
    if (!portable) {
      all.elements += agreement.elements;
      all.beyond_one += agreement.beyond_one;
    }
    if (portable)
      CHECK_MESSAGE(result.outputs[0] == first, "kernels differ from the portable ones");
    first = result.outputs[0];
  }
}

TEST_CASE(
    "Models: quantized ONNX models agree within one step, and work on bytes from end to end") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  Agreement all;
  for (const QuantizedModel& model : kQuantizedModels) {
    CAPTURE(std::string(model.model.folder));
    REQUIRE(std::filesystem::exists(ModelPath(models, model.model)));
    CheckModel(models, model, all);
  }
  CHECK(static_cast<double>(all.beyond_one) <= 0.001 * static_cast<double>(all.elements));
}

TEST_CASE("Models: channels are shuffled in one step, where images lie") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  converter::ConvertOptions options = OptionsFor();
  options.model = models / "shufflenet_v2_qlinear_int8" / "model.onnx";
  const auto conversion = converter::Convert(options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  const PlanBytes bytes(conversion->plan);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(view.ok());
  const ProgramView program = view->program(0);
  size_t reshapes = 0;
  size_t copies = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const auto kind = static_cast<OpKind>(program.op(i).kind);
    reshapes += kind == OpKind::kReshape ? 1 : 0;
    copies += kind == OpKind::kCopy || kind == OpKind::kTranspose ? 1 : 0;
  }
  CHECK(reshapes == 16);  // one for each of its shuffles
  CHECK(copies == 0);
}

}  // namespace
}  // namespace tenon::test
