#include "converter/passes/store_weights.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "converter/passes/stored_values.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

struct Stored {
  std::string text;
  PassReport report;
  WeightsReport weights;
};

/// The graph stored in that form, constants of any size included.
Stored StoreAs(WeightsForm form, std::string_view text, DType model = DType::kF32) {
  Graph graph = Parsed(text);
  graph.weights = model;
  PassContext context;
  context.weights_form = form;
  context.fewest_weight_bytes = 0;
  REQUIRE(StoreWeights(graph, context).ok());
  const Status status = Verify(graph);
  if (!status.ok()) FAIL(status.error().message);
  return {PrintedForTest(graph), context.report, context.weights};
}

std::string ReasonOf(const Stored& stored) {
  REQUIRE(stored.report.declined.size() == 1);
  return stored.report.declined[0].reason;
}

constexpr const char* kStoredConv = R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = [0.1, -0.2718, 1, 0.7071]
%y = conv(%x, %w)
output %y
)";

TEST_CASE("StoreWeights: f16 weights take the place of the f32 ones") {
  const Stored stored = StoreAs(WeightsForm::kF16, kStoredConv);
  CHECK(stored.text == R"(input %x: f32[1,2,3,3]
const %w.f16: f16[2,2,1,1] = [0.099975586, -0.27172852, 1, 0.70703125]
%y: f32[1,2,3,3] = conv(%x, %w.f16)
output %y
)");
  CHECK(stored.weights.tensors == 1);
  CHECK(stored.weights.stored == 1);
  CHECK(stored.weights.bytes_before == 16);
  CHECK(stored.weights.bytes_after == 8);
  CHECK(stored.weights.largest_error == doctest::Approx(0.0000715 / 0.2718).epsilon(0.01));
}

TEST_CASE("StoreWeights: exact multiples of a scale become i8 without loss") {
  const Stored stored = StoreAs(WeightsForm::kInt8, R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = [1, -127, 0, 0]
%y = conv(%x, %w)
output %y
)");
  CHECK(stored.text == R"(input %x: f32[1,2,3,3]
const %w.i8: i8[2,2,1,1] = [1, -127, 0, 0]
const %w.scale: f32[2] = [1, 1]
%y: f32[1,2,3,3] = conv(%x, %w.i8, _, _, %w.scale)
output %y
)");
}

/// 64 weights of one channel: k * scale for the integers k from -64 on, and one more.
std::vector<float> Multiples(float scale, float last) {
  std::vector<float> values;
  for (int k = -64; k < 0; ++k) values.push_back(static_cast<float>(k) * scale);
  values.back() = last;
  return values;
}

TEST_CASE("Stored values: a scale is found again bit for bit, whatever its largest multiple was") {
  for (const float scale : {0.0123456F, 3.3e-7F, 1.0F / 3, 77.7F}) {
    CAPTURE(scale);
    const WeightValues weights = {Multiples(scale, 3 * scale), 1, 64};
    const StoredValues stored = StoreAsInt8(weights, /*exact_only=*/true);
    CHECK(stored.refusal.empty());
    CHECK(stored.values == weights.values);
    const StorageLoss loss = LossOf(weights, stored.values);
    CHECK(loss.noise == 0);
  }
}

TEST_CASE("Stored values: what is no multiple is rounded to at most half a step of 1/127") {
  const WeightValues weights = {Multiples(0.01F, 0.0151F), 1, 64};
  CHECK(StoreAsInt8(weights, /*exact_only=*/true).refusal ==
        "its weights are no whole multiples of a scale");
  const StoredValues stored = StoreAsInt8(weights, /*exact_only=*/false);
  REQUIRE(stored.refusal.empty());
  const StorageLoss loss = LossOf(weights, stored.values);
  CHECK(loss.largest_error > 0);
  CHECK(loss.largest_error <= 0.5 / 127 * 1.0001);
}

TEST_CASE("Stored values: each channel has its own scale, wherever the channels lie") {
  // Columns of a matrix [2, 3].
  const WeightValues weights = {{1, 100, 0.001F, -0.5F, 50, 0.0005F}, 3, 1};
  const StoredValues stored = StoreAsInt8(weights, /*exact_only=*/false);
  REQUIRE(stored.scales.size() == 3);
  CHECK(stored.scales[1] / stored.scales[0] == doctest::Approx(100).epsilon(0.02));
  CHECK(LossOf(weights, stored.values).largest_error <= 0.5 / 127 * 1.0001);
}

TEST_CASE("Stored values: numbers that a form cannot hold are refused") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(StoreAsHalf({{1, 70000}, 1, 2}).refusal == "70000 is beyond the range of f16");
  CHECK(StoreAsHalf({{1e-7F, 2e-7F}, 1, 2}).refusal ==
        "a channel's weights are so small that f16 would lose most of their digits");
  CHECK(StoreAsHalf({{1e-7F, 1}, 1, 2}).refusal.empty());
  CHECK(StoreAsHalf({{1e-7F, 1}, 2, 1}).refusal.empty());
  CHECK(StoreAsInt8({{1, infinity}, 1, 2}, false).refusal == "a weight is not finite");
  CHECK(StoreAsInt8({{1, std::nanf("")}, 1, 2}, false).refusal == "a weight is not finite");
  CHECK(StoreAsInt8({{1e-38F, 3e-38F}, 1, 2}, false).refusal ==
        "a channel's weights are too small for a scale");
}

TEST_CASE("StoreWeights: matrices have a scale for each column, transposed ones for each row") {
  const char* text = R"(input %x: f32[1,2]
const %b: f32[2,3] = [1, 2, 4, 127, 254, 508]
%y = matmul(%x, %b)
output %y
)";
  CHECK(StoreAs(WeightsForm::kInt8, text).text == R"(input %x: f32[1,2]
const %b.i8: i8[2,3] = [1, 1, 1, 127, 127, 127]
const %b.scale: f32[3] = [1, 2, 4]
%y: f32[1,3] = matmul(%x, %b.i8, _, %b.scale)
output %y
)");
  const Stored turned = StoreAs(WeightsForm::kInt8, R"(input %x: f32[1,2]
const %b: f32[3,2] = [1, 127, 2, 254, 4, 508]
%y = matmul(%x, %b) {transpose_b=1}
output %y
)");
  CHECK(turned.text.find("const %b.scale: f32[3] = [1, 2, 4]") != std::string::npos);
}

TEST_CASE("StoreWeights: channels of few weights that int8 would round become f16") {
  const Stored stored = StoreAs(WeightsForm::kInt8, kStoredConv);
  CHECK(stored.text.find("%w.f16: f16[2,2,1,1]") != std::string::npos);
}

TEST_CASE("StoreWeights: weights among which one is far larger become f16") {
  // 63 weights of about 1 and one of 50: steps of 50 / 127 leave the others little.
  std::string values = "50";
  for (int i = 1; i < 64; ++i) values += fmt::format(", {}", 0.9 + 0.0031 * i);
  const std::string text = fmt::format(
      "input %x: f32[1,64,1,1]\nconst %w: f32[1,64,1,1] = [{}]\n%y = conv(%x, %w)\noutput %y\n",
      values);
  CHECK(StoreAs(WeightsForm::kInt8, text).text.find("%w.f16") != std::string::npos);
}

TEST_CASE("StoreWeights: readers share the stored weights, or all keep the f32 ones") {
  const Stored shared = StoreAs(WeightsForm::kF16, R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = [0.1, -0.2718, 1, 0.7071]
%a = conv(%x, %w)
%b = conv(%a, %w) {activation=relu}
output %b
)");
  CHECK(shared.weights.tensors == 1);
  CHECK(shared.text.find("conv(%x, %w.f16)") != std::string::npos);
  CHECK(shared.text.find("conv(%a, %w.f16)") != std::string::npos);
  const Stored other = StoreAs(WeightsForm::kF16, R"(input %x: f32[1,2,1,1]
const %w: f32[2,2,1,1] = [0.1, -0.2718, 1, 0.7071]
%a = conv(%x, %w)
%b = binary(%a, %w) {function=add}
output %b
)");
  CHECK(ReasonOf(other) == "'b' reads its weights as something else");
  CHECK(other.weights.bytes_after == other.weights.bytes_before);
}

TEST_CASE("StoreWeights: several matrices, and a matrix read both ways, get no scales") {
  CHECK(ReasonOf(StoreAs(WeightsForm::kInt8, R"(input %x: f32[2,1,2]
const %b: f32[2,2,40] = random(1)
%y = matmul(%x, %b)
output %y
)")) == "several matrices have no scale for each column");
  CHECK(ReasonOf(StoreAs(WeightsForm::kInt8, R"(input %x: f32[1,40]
const %b: f32[40,40] = random(1)
%a = matmul(%x, %b)
%y = matmul(%a, %b) {transpose_b=1}
output %y
)")) == "'y' has other output channels of the same weights");
}

TEST_CASE("StoreWeights: a model that dequantizes constants of i8 has weights of i8") {
  CHECK(HasInt8Weights(Parsed(R"(input %x: f32[1,2]
const %q: i8[2,1] = [1, 2]
const %s: f32[1] = [0.5]
%w = dequantize(%q, %s)
%y = matmul(%x, %w)
output %y
)")));
  CHECK_FALSE(HasInt8Weights(Parsed(R"(input %q: i8[2,1]
const %s: f32[1] = [0.5]
%y = dequantize(%q, %s)
output %y
)")));
  CHECK_FALSE(HasInt8Weights(Parsed(kStoredConv)));
}

TEST_CASE("StoreWeights: unless told, weights stay as the model has them") {
  CHECK(StoreAs(WeightsForm::kModel, kStoredConv).weights.stored == 0);
  CHECK(StoreAs(WeightsForm::kF32, kStoredConv, DType::kF16).weights.stored == 0);
  CHECK(StoreAs(WeightsForm::kModel, kStoredConv, DType::kF16).text.find("%w.f16") !=
        std::string::npos);
  CHECK(ReasonOf(StoreAs(WeightsForm::kModel, kStoredConv, DType::kI8)) ==
        "its weights are no whole multiples of a scale");
}

TEST_CASE("StoreWeights: small constants, and ops that would run worse, stay as they are") {
  Graph graph = Parsed(kStoredConv);
  PassContext context;
  context.weights_form = WeightsForm::kF16;
  REQUIRE(StoreWeights(graph, context).ok());
  context.fewest_weight_bytes = 0;
  context.why_worse_kernel = [](const Graph& whole, const Op& before, const Op& after) {
    CHECK(whole.tensor(before.inputs[1]).dtype == DType::kF32);
    CHECK(whole.tensor(after.inputs[1]).dtype == DType::kF16);
    return std::string("no kernel likes it");
  };
  REQUIRE(StoreWeights(graph, context).ok());
  REQUIRE(context.report.declined.size() == 2);
  CHECK(context.report.declined[0].reason == "its weights are small");
  CHECK(context.report.declined[1].reason == "no kernel likes it");
  CHECK(PrintedForTest(graph) == PrintedForTest(Parsed(kStoredConv)));
}

}  // namespace
}  // namespace tenon::converter
