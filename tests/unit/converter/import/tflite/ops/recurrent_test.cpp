// UNIDIRECTIONAL_SEQUENCE_LSTM: one unit worked out by hand, its state, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/ops/numbers.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::TensorType;
using Floats = std::vector<float>;

/// Two steps of one unit with weights 0.5, 1, 1.5, 2 (input, forget, cell, output gate), recurrent
/// weights a tenth of those, biases 0.25.
struct FloatLstm : TfliteBuilder {
  int32_t x = Input("x", TensorType::FLOAT32, {1, 2, 1});
  int32_t output_state = Variable("h", {1, 1});
  int32_t cell_state = Variable("c", {1, 1});
  std::vector<int32_t> inputs = std::vector<int32_t>(24, -1);

  FloatLstm() {
    inputs[0] = x;
    for (size_t gate = 0; gate < 4; ++gate) {
      const float weight = 0.5F * static_cast<float>(gate + 1);
      inputs[1 + gate] = Floats("w" + std::to_string(gate), {1, 1}, {weight});
      inputs[5 + gate] = Floats("r" + std::to_string(gate), {1, 1}, {weight / 10});
      inputs[12 + gate] = Floats("b" + std::to_string(gate), {1}, {0.25F});
    }
    inputs[18] = output_state;
    inputs[19] = cell_state;
  }

  void Finish() {
    const int32_t y = Output("y", TensorType::FLOAT32, {1, 2, 1});
    Node(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y},
         format::BuiltinOptions::UnidirectionalSequenceLSTMOptions,
         format::CreateUnidirectionalSequenceLSTMOptions(flat, format::ActivationFunctionType::TANH)
             .Union());
  }
};

TEST_CASE("TFLite LSTM: a unit's outputs and the states that it leaves") {
  FloatLstm model;
  model.Finish();
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  REQUIRE(graph->states.size() == 2);
  Values values;
  const auto set = [&](const std::string& port, const Floats& floats) {
    auto& bytes = values[graph->FindPort(false, port)->tensor];
    bytes.resize(floats.size() * sizeof(float));
    std::memcpy(bytes.data(), floats.data(), bytes.size());
  };
  set("x", {0.5F, -1.0F});
  set("h", {0.25F});
  set("c", {-0.5F});
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  REQUIRE(Evaluate(*graph, wanted, values).ok());

  double h = 0.25;
  double c = -0.5;
  std::vector<double> expected;
  for (const double x : {0.5, -1.0}) {
    const auto sum = [&](double weight) { return weight * x + weight / 10 * h + 0.25; };
    const double open = Sigmoid(sum(2.0));
    c = Sigmoid(sum(1.0)) * c + Sigmoid(sum(0.5)) * std::tanh(sum(1.5));
    h = open * std::tanh(c);
    expected.push_back(h);
  }
  const auto floats = [&](const std::string& port) {
    const auto& bytes = values.at(graph->FindPort(true, port)->tensor);
    Floats found(bytes.size() / sizeof(float));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  };
  CHECK(floats("y")[0] == doctest::Approx(expected[0]));
  CHECK(floats("y")[1] == doctest::Approx(expected[1]));
  CHECK(floats("h.next")[0] == doctest::Approx(h));
  CHECK(floats("c.next")[0] == doctest::Approx(c));
}

TEST_CASE("TFLite LSTM: normalised gates are refused, and a state that is no variable") {
  FloatLstm normalised;
  normalised.inputs[20] = normalised.Floats("n", {1}, {1});
  normalised.Finish();
  CHECK(normalised.Text().find("normalisation of its gates is not supported") != std::string::npos);
  FloatLstm constant;
  constant.inputs[19] = constant.Floats("c0", {1, 1}, {0});
  constant.Finish();
  CHECK(constant.Text().find("'c0' is no variable: only such keep a state") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
