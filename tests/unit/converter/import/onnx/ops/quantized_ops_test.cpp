// Quantised operators of com.microsoft against the same operators in floats: x is quantised, put
// through the operator, and made float again, each to a step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/ops/microsoft.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using onnx::TensorProto;
using Names = std::vector<std::string>;

constexpr float kScale = 0.05F;  // of x
constexpr float kStep = 0.1F;    // of y
constexpr int32_t kZeroX = 120;
constexpr int32_t kZeroY = 128;

/// A model that quantises "x" to "q"; `Finish` makes its result "r" float again.
ModelBuilder Begin(const std::vector<int64_t>& dims) {
  auto model = ModelBuilder(13).Input("x", dims).Floats("s", {}, {kScale}).Floats("t", {}, {kStep});
  AddBytes(model, "z", {}, {kZeroX});
  AddBytes(model, "u", {}, {kZeroY});
  return model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"}, "begin");
}

ModelBuilder& Finish(ModelBuilder& model) {
  return model.Node("DequantizeLinear", {"r", "t", "u"}, {"y"}, "end").Output("y");
}

/// ExactValues that both scales hold exactly.
Floats ExactValues(size_t count) {
  Floats values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(static_cast<int>(i * 7 % 41) - 20) * kStep);
  return values;
}

void CheckWithinAStep(const Floats& got, const Floats& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const float least = -static_cast<float>(kZeroY) * kStep;
    const float most = static_cast<float>(255 - kZeroY) * kStep;
    CHECK(std::fabs(got[i] - std::clamp(wanted[i], least, most)) <= kStep * 0.5001F);
  }
}

TEST_CASE("QLinear: functions of one tensor") {
  const Floats x = ExactValues(12);
  const auto run = [&](const std::string& op) {
    auto model = Begin({12});
    Microsoft(model.Node(op, {"q", "s", "z", "t", "u"}, {"r"}));
    if (op == "QLinearLeakyRelu") model.Set("alpha", 0.25F);
    return Run(Finish(model), {x});
  };
  Floats sigmoid;
  Floats leaky;
  for (const float value : x) {
    sigmoid.push_back(1.0F / (1.0F + std::exp(-value)));
    leaky.push_back(value < 0 ? 0.25F * value : value);
  }
  CheckWithinAStep(run("QLinearSigmoid"), sigmoid);
  CheckWithinAStep(run("QLinearLeakyRelu"), leaky);
}

TEST_CASE("QLinear: sums and products of two tensors") {
  const Floats x = ExactValues(12);
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    auto model = Begin({12});
    Microsoft(model.Node(op, {"q", "s", "z", "q", "s", "z", "t", "u"}, {"r"}));
    Floats wanted;
    for (const float value : x)
      wanted.push_back(op == std::string("QLinearAdd") ? 2 * value : value * value);
    CheckWithinAStep(Run(Finish(model), {x}), wanted);
  }
}

TEST_CASE("QLinear: means over windows, images and axes") {
  const Floats x = ExactValues(8);  // [1, 2, 4]
  const Floats pairs = {(x[0] + x[1]) / 2, (x[2] + x[3]) / 2, (x[4] + x[5]) / 2, (x[6] + x[7]) / 2};
  const Floats all = {(x[0] + x[1] + x[2] + x[3]) / 4, (x[4] + x[5] + x[6] + x[7]) / 4};
  const Names inputs = {"q", "s", "z", "t", "u"};
  auto pool = Begin({1, 2, 4});
  Microsoft(pool.Node("QLinearAveragePool", inputs, {"r"}))
      .Set("kernel_shape", std::vector<int64_t>{2})
      .Set("strides", std::vector<int64_t>{2});
  CheckWithinAStep(Run(Finish(pool), {x}), pairs);
  auto global = Begin({1, 2, 4});
  Microsoft(global.Node("QLinearGlobalAveragePool", inputs, {"r"}));
  CheckWithinAStep(Run(Finish(global), {x}), all);
  auto mean = Begin({1, 2, 4});
  Microsoft(mean.Node("QLinearReduceMean", inputs, {"r"}))
      .Set("axes", std::vector<int64_t>{-1})
      .Set("keepdims", 0);
  CheckWithinAStep(Run(Finish(mean), {x}), all);
  auto whole = Begin({1, 2, 4});
  Microsoft(whole.Node("QLinearReduceMean", inputs, {"r"}));
  CheckWithinAStep(Run(Finish(whole), {x}), {(all[0] + all[1]) / 2});
}

TEST_CASE("QLinear: parts are joined on the result's scale") {
  const Floats x = ExactValues(4);
  auto model = Begin({2, 2});
  Microsoft(model.Node("QLinearConcat", {"t", "u", "q", "s", "z", "q", "s", "z"}, {"r"}))
      .Set("axis", -1);
  CheckWithinAStep(Run(Finish(model), {x}), {x[0], x[1], x[0], x[1], x[2], x[3], x[2], x[3]});
}

TEST_CASE("QLinear: softmax along one axis, or over all behind it as before opset 13") {
  const Floats x = ExactValues(4);
  const auto run = [&](int64_t opset) {
    auto model = Begin({1, 2, 2});
    Microsoft(model.Node("QLinearSoftmax", {"q", "s", "z", "t", "u"}, {"r"}))
        .Set("axis", 1)
        .Set("opset", opset);
    return Run(Finish(model), {x});
  };
  const auto share = [&](size_t of, const std::vector<size_t>& among) {
    float sum = 0;
    for (const size_t i : among) sum += std::exp(x[i]);
    return std::exp(x[of]) / sum;
  };
  CheckWithinAStep(run(13),
                   {share(0, {0, 2}), share(1, {1, 3}), share(2, {0, 2}), share(3, {1, 3})});
  CheckWithinAStep(run(12), {share(0, {0, 1, 2, 3}), share(1, {0, 1, 2, 3}), share(2, {0, 1, 2, 3}),
                             share(3, {0, 1, 2, 3})});
}

TEST_CASE("QLinear: what is not supported, or missing, is refused") {
  const auto text = [](const std::string& op, const std::vector<int64_t>& dims, const Names& inputs,
                       const char* attribute) {
    auto model = Begin(dims);
    Microsoft(model.Node(op, inputs, {"r"}));
    if (attribute != nullptr) model.Set(attribute, 1);
    return Finish(model).Text();
  };
  const Names one = {"q", "s", "z", "t", "u"};
  CHECK(text("QLinearGlobalAveragePool", {1, 2, 4}, one, "channels_last") ==
        "error: node 'n' (QLinearGlobalAveragePool): channels_last is not supported");
  CHECK(text("QLinearGlobalAveragePool", {1, 2}, one, nullptr) ==
        "error: node 'n' (QLinearGlobalAveragePool): its input has 2 dimensions, no spatial one");
  CHECK(text("QLinearReduceMean", {}, one, nullptr) ==
        "error: node 'n' (QLinearReduceMean): its input is a scalar");
  CHECK(text("QLinearConcat", {2}, one, nullptr) ==
        "error: node 'n' (QLinearConcat): attribute 'axis' is missing");
  CHECK(text("QLinearConcat", {2}, {"t", "u", "q", "s"}, "axis") ==
        "error: node 'n' (QLinearConcat): it has 4 inputs");
}

TEST_CASE("QGemm: alpha times the product, plus a bias in its units; float without a scale of y") {
  const Floats x = ExactValues(6);  // [3, 2]
  for (const bool is_float : {false, true}) {
    auto model = Begin({3, 2}).Floats("sw", {}, {0.5F});
    AddBytes(model, "w", {2, 2}, {130, 126, 129, 120});
    AddBytes(model, "zw", {}, {128});
    TensorProto& bias = *model.graph().add_initializer();
    bias.set_name("bias");
    bias.set_data_type(TensorProto::INT32);
    bias.add_dims(2);
    bias.add_int32_data(40);
    bias.add_int32_data(-80);
    Names inputs = {"q", "s", "z", "w", "sw", "zw", "bias", "t", "u"};
    if (is_float) inputs.resize(7);
    Microsoft(model.Node("QGemm", inputs, {is_float ? "y" : "r"}))
        .Set("alpha", 0.5F)
        .Set("transB", 1);
    if (is_float) model.Output("y");
    if (!is_float) Finish(model);
    const float w[2][2] = {{1, -1}, {0.5F, -4}};
    const float unit = 0.5F * kScale * 0.5F;
    Floats wanted;
    for (size_t row = 0; row < 3; ++row) {
      for (size_t i = 0; i < 2; ++i) {
        wanted.push_back(0.5F * (x[2 * row] * w[i][0] + x[2 * row + 1] * w[i][1]) +
                         unit * (i == 0 ? 40.0F : -80.0F));
      }
    }
    CheckWithinAStep(Run(model, {x}), wanted);
  }
}

TEST_CASE("MatMulIntegerToFloat: a product of integers in floats, with a bias") {
  const Floats x = ExactValues(6);
  auto model = Begin({3, 2}).Floats("sw", {2}, {0.5F, 0.25F}).Floats("bias", {2}, {1, -1});
  AddBytes(model, "w", {2, 2}, {130, 126, 129, 120});
  AddBytes(model, "zw", {2}, {128, 128});
  Microsoft(model.Node("MatMulIntegerToFloat", {"q", "w", "s", "sw", "z", "zw", "bias"}, {"y"}))
      .Output("y");
  const float w[2][2] = {{1, -0.5F}, {0.5F, -2}};
  Floats wanted;
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 2; ++i) {
      wanted.push_back(x[2 * row] * w[0][i] + x[2 * row + 1] * w[1][i] + (i == 0 ? 1.0F : -1.0F));
    }
  }
  CheckClose(Run(model, {x}), wanted);
}

// Products with columns {1, 0.5} and {-0.5, -2}.
constexpr float kDynamicX[] = {0, 255, 51, 102};  // held by bytes in steps of 1
constexpr float kDynamicProducts[] = {127.5F, -510, 102, -229.5F};

ModelBuilder BeginDynamic() {
  auto model = ModelBuilder(13).Input("x", {2, 2}).Floats("sw", {2}, {0.5F, 0.25F});
  AddBytes(model, "w", {2, 2}, {130, 126, 129, 120});
  AddBytes(model, "zw", {2}, {128, 128});
  return model.Floats("bias", {2}, {1, -1});
}

void CheckDynamic(const ModelBuilder& model, bool bias) {
  Floats wanted(std::begin(kDynamicProducts), std::end(kDynamicProducts));
  for (size_t i = 0; i < wanted.size() && bias; ++i) wanted[i] += i % 2 == 0 ? 1.0F : -1.0F;
  CheckClose(Run(model, {Floats(std::begin(kDynamicX), std::end(kDynamicX))}), wanted);
}

TEST_CASE("DynamicQuantizeMatMul: floats are quantised as they come, the bias is optional") {
  for (const bool bias : {false, true}) {
    auto model = BeginDynamic();
    model.Node("DynamicQuantizeMatMul", {"x", "w", "sw", "zw", bias ? "bias" : ""}, {"y"});
    CheckDynamic(Microsoft(model).Output("y"), bias);
  }
}

TEST_CASE("MatMulIntegerToFloat: a scale that is computed, the bias is optional") {
  for (const bool bias : {false, true}) {
    auto model = BeginDynamic();
    model.Node("DynamicQuantizeLinear", {"x"}, {"q", "sx", "zx"}, "begin");
    model.Node("MatMulIntegerToFloat", {"q", "w", "sx", "sw", "zx", "zw", bias ? "bias" : ""},
               {"y"});
    CheckDynamic(Microsoft(model).Output("y"), bias);
  }
}

}  // namespace
}  // namespace tenon::converter::test
