// The LSTM of integers, inputs and outputs of 8 bits and a cell of 16, against its equations.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/ops/numbers.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::TensorType;

constexpr float kXScale = 1.0F / 64;
constexpr float kWeightScale = 1.0F / 32;
constexpr float kRecurrentScale = 1.0F / 128;
constexpr float kOutputScale = 1.0F / 128;
constexpr float kCellScale = 1.0F / 2048;

/// Two steps of one unit: weights 0.5, 1, 1.5, 2 (input, forget, cell, output gate), recurrent
/// weights a tenth of those, biases 0.25; as integers.
struct IntegerLstm : TfliteBuilder {
  std::vector<int32_t> inputs = std::vector<int32_t>(24, -1);
  float cell_scale = kCellScale;
  float cell_clip = 0;
  float proj_clip = 0;

  void Weights(int first_gate) {
    for (int gate = first_gate; gate < 4; ++gate) {
      const auto at = static_cast<size_t>(gate);
      const float weight = 0.5F * static_cast<float>(gate + 1);
      const auto stored = [](float value, float scale) {
        return std::vector<int32_t>{static_cast<int32_t>(std::lround(value / scale))};
      };
      const std::string n = std::to_string(gate);
      inputs[1 + at] = Bytes("w" + n, TensorType::INT8, {1, 1}, stored(weight, kWeightScale),
                             {{kWeightScale}, {0}});
      inputs[5 + at] = Bytes("r" + n, TensorType::INT8, {1, 1},
                             stored(weight / 10, kRecurrentScale), {{kRecurrentScale}, {0}});
      inputs[12 + at] = Ints("b" + n, {1}, stored(0.25F, kXScale * kWeightScale),
                             {{kXScale * kWeightScale}, {0}});
    }
  }

  void Finish() {
    inputs[0] = Input("x", TensorType::INT8, {1, 2, 1}, {{kXScale}, {0}});
    inputs[18] = Variable("h", {1, 1}, TensorType::INT8, {{kOutputScale}, {0}});
    inputs[19] = Variable("c", {1, 1}, TensorType::INT16, {{cell_scale}, {0}});
    for (int i = 0; i < 5; ++i) {
      intermediates.push_back(
          Value("inner" + std::to_string(i), TensorType::INT8, {1, 1}, {{kOutputScale}, {0}}));
    }
    const int32_t y = Output("y", TensorType::INT8, {1, 2, 1}, {{kOutputScale}, {0}});
    Node(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y},
         format::BuiltinOptions::UnidirectionalSequenceLSTMOptions,
         format::CreateUnidirectionalSequenceLSTMOptions(flat, format::ActivationFunctionType::TANH,
                                                         cell_clip, proj_clip)
             .Union());
  }
};

struct Outcome {
  std::vector<double> y;
  double h = 0;
  double c = 0;
};

/// The outputs of x = 0.5 and -1, from h = 0.25 and c = -0.5, and the states that are left.
Outcome RunLstm(IntegerLstm& model) {
  model.Finish();
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  const auto set = [&](const std::string& port, const std::vector<int8_t>& bytes) {
    auto& to = values[graph->FindPort(false, port)->tensor];
    to.resize(bytes.size());
    std::memcpy(to.data(), bytes.data(), bytes.size());
  };
  set("x", {32, -64});
  set("h", {32});
  const int16_t cell = -1024;
  set("c", {static_cast<int8_t>(cell & 0xFF), static_cast<int8_t>(cell >> 8)});
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  REQUIRE(Evaluate(*graph, wanted, values).ok());
  const auto bytes = [&](const std::string& port) {
    return values.at(graph->FindPort(true, port)->tensor);
  };
  const auto small = [](std::byte byte) {
    return static_cast<int8_t>(byte) * double{kOutputScale};
  };
  int16_t left = 0;
  std::memcpy(&left, bytes("c.next").data(), sizeof left);
  return {{small(bytes("y")[0]), small(bytes("y")[1])},
          small(bytes("h.next")[0]),
          left * double{model.cell_scale}};
}

/// The same by the equations. `peephole` is the weight of all gates that have one.
Outcome Expected(bool coupled, double peephole, double most_cell, double projection) {
  Outcome outcome;
  double h = 0.25;
  double c = -0.5;
  for (const double x : {0.5, -1.0}) {
    const auto sum = [&](double weight) { return weight * x + weight / 10 * h + 0.25; };
    const double forget = Sigmoid(sum(1.0) + peephole * c);
    const double let_in = coupled ? 1 - forget : Sigmoid(sum(0.5) + peephole * c);
    c = forget * c + let_in * std::tanh(sum(1.5));
    if (most_cell > 0) c = std::fmax(-most_cell, std::fmin(most_cell, c));
    h = Sigmoid(sum(2.0) + peephole * c) * std::tanh(c) * projection;
    outcome.y.push_back(h);
  }
  outcome.h = h;
  outcome.c = c;
  return outcome;
}

void CheckNear(const Outcome& got, const Outcome& wanted) {
  const double steps = 2.5 * double{kOutputScale};
  CHECK(std::fabs(got.y[0] - wanted.y[0]) <= steps);
  CHECK(std::fabs(got.y[1] - wanted.y[1]) <= steps);
  CHECK(got.h == got.y[1]);
  CHECK(std::fabs(got.c - wanted.c) <= steps);
}

TEST_CASE("TFLite LSTM of integers: a unit's outputs and the states that it leaves") {
  IntegerLstm model;
  model.Weights(0);
  CheckNear(RunLstm(model), Expected(false, 0, 0, 1));
}

TEST_CASE("TFLite LSTM of integers: without an input gate what is let in is what is not kept") {
  IntegerLstm model;
  model.Weights(1);
  CheckNear(RunLstm(model), Expected(true, 0, 0, 1));
}

TEST_CASE(
    "TFLite LSTM of integers: peepholes see the cell, which is clipped, a projection follows") {
  IntegerLstm model;
  model.Weights(0);
  for (size_t i = 0; i < 3; ++i) {
    // Of 16 bits, as the cell is: 0.75 in steps of 2^-15.
    model.inputs[9 + i] = model.Bytes("p" + std::to_string(i), TensorType::INT16, {1}, {0x00, 0x60},
                                      {{1.0F / 32768}, {0}});
  }
  model.cell_clip = 0.375F;
  model.inputs[16] = model.Bytes("j", TensorType::INT8, {1, 1}, {-64}, {{1.0F / 128}, {0}});
  CheckNear(RunLstm(model), Expected(false, 0.75, 0.375, -0.5));
}

TEST_CASE("TFLite LSTM of integers: what the kernel has no arithmetic for is refused") {
  const auto refused = [](const std::function<void(IntegerLstm&)>& change) {
    IntegerLstm model;
    model.Weights(0);
    change(model);
    model.Finish();
    return model.Text();
  };
  const std::string n = "error: node 'y' (UNIDIRECTIONAL_SEQUENCE_LSTM): ";
  CHECK(refused([](IntegerLstm& model) { model.cell_scale = 0.0003F; }) ==
        n + "the scale 0.0003 of its cell is not a power of two from 2^-15 to 2^-9");
  CHECK(refused([](IntegerLstm& model) { model.inputs[20] = model.inputs[12]; }) ==
        n + "normalisation of its gates is not supported");
  CHECK(refused([](IntegerLstm& model) { model.inputs[6] = model.inputs[13]; }) ==
        n + "its weights are no matrices");
}

}  // namespace
}  // namespace tenon::converter::test
