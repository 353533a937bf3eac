// Recurrent layers of one unit against their equations, step by step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

const Floats kX = {0.5F, -1.0F, 2.0F, 0.25F, -0.75F, 3.0F};  // [3, 2, 1]: steps, batch

void Lengths(ModelBuilder& model, const std::vector<int32_t>& lengths) {
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name("lengths");
  tensor.set_data_type(onnx::TensorProto::INT32);
  tensor.add_dims(static_cast<int64_t>(lengths.size()));
  for (const int32_t length : lengths) tensor.add_int32_data(length);
}

float Sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

/// Weights, recurrence and biases of each gate, in ONNX's order.
struct Gates {
  Floats w;
  Floats r;
  Floats b;  ///< of the input, then of the recurrence

  [[nodiscard]] float At(size_t gate, float x, float h) const {
    return w[gate] * x + r[gate] * h + b[gate] + b[gate + w.size()];
  }
};

ModelBuilder Layer(const std::string& op, const Gates& gates,
                   const std::vector<std::string>& inputs) {
  const auto count = static_cast<int64_t>(gates.w.size());
  auto model = ModelBuilder(14)
                   .Input("x", {3, 2, 1})
                   .Floats("w", {1, count, 1}, gates.w)
                   .Floats("r", {1, count, 1}, gates.r)
                   .Floats("b", {1, 2 * count}, gates.b);
  return model.Node(op, inputs, {"y"}).Set("hidden_size", 1).Output("y");
}

const Gates kLstm{{0.5F, -1.0F, 0.75F, 1.5F},
                  {0.25F, 0.5F, -0.5F, 1.0F},
                  {0.1F, 0.2F, -0.3F, 0.4F, 0.05F, -0.15F, 0.25F, 0.35F}};

TEST_CASE("LSTM: states, biases and peepholes without dimensions are refused") {
  auto states = Layer("LSTM", kLstm, {"x", "w", "r", "b", "", "h"});
  states.Floats("h", {}, {0.5F});
  CHECK(states.Text() == "error: node 'n' (LSTM): its input 5 has the wrong shape");
  auto peepholes = Layer("LSTM", kLstm, {"x", "w", "r", "b", "", "", "", "p"});
  peepholes.Floats("p", {}, {0.5F});
  CHECK(peepholes.Text() == "error: node 'n' (LSTM): one of its inputs has no dimensions");
}

TEST_CASE("LSTM: peepholes see the cell, gates are clipped, short sequences end in zeros") {
  auto model = Layer("LSTM", kLstm, {"x", "w", "r", "b", "lengths", "", "", "p"});
  model.Set("clip", 0.8F).Floats("p", {1, 3}, {0.5F, -0.25F, 0.75F});
  Lengths(model, {3, 2});
  const Floats peep = {0.5F, -0.25F, 0.75F};
  Floats expected(6);
  for (size_t n = 0; n < 2; ++n) {
    float h = 0;
    float c = 0;
    for (size_t t = 0; t < (n == 0 ? 3 : 2); ++t) {
      const float x = kX[2 * t + n];
      const auto clip = [](float value) { return std::clamp(value, -0.8F, 0.8F); };
      const float input = Sigmoid(clip(kLstm.At(0, x, h) + peep[0] * c));
      const float forget = Sigmoid(clip(kLstm.At(2, x, h) + peep[2] * c));
      c = forget * c + input * std::tanh(clip(kLstm.At(3, x, h)));
      h = Sigmoid(clip(kLstm.At(1, x, h) + peep[1] * c)) * std::tanh(c);
      expected[2 * t + n] = h;
    }
  }
  CheckClose(Run(model, {kX}), expected);
}

TEST_CASE("LSTM: with input_forget what comes in is what is forgotten") {
  auto model = Layer("LSTM", kLstm, {"x", "w", "r", "b"});
  model.Set("input_forget", 1);
  Floats expected(6);
  for (size_t n = 0; n < 2; ++n) {
    float h = 0;
    float c = 0;
    for (size_t t = 0; t < 3; ++t) {
      const float x = kX[2 * t + n];
      const float input = Sigmoid(kLstm.At(0, x, h));
      c = (1 - input) * c + input * std::tanh(kLstm.At(3, x, h));
      h = Sigmoid(kLstm.At(1, x, h)) * std::tanh(c);
      expected[2 * t + n] = h;
    }
  }
  CheckClose(Run(model, {kX}), expected);
}

TEST_CASE("GRU: the reset takes effect before the product, or after it") {
  const Gates gates{
      {0.5F, -1.0F, 0.75F}, {0.25F, 0.5F, -0.5F}, {0.1F, 0.2F, -0.3F, 0.4F, 0.05F, 0.7F}};
  for (const bool after : {false, true}) {
    auto model = Layer("GRU", gates, {"x", "w", "r", "b"});
    model.Set("linear_before_reset", after ? 1 : 0);
    Floats expected(6);
    for (size_t n = 0; n < 2; ++n) {
      float h = 0;
      for (size_t t = 0; t < 3; ++t) {
        const float x = kX[2 * t + n];
        const float update = Sigmoid(gates.At(0, x, h));
        const float reset = Sigmoid(gates.At(1, x, h));
        const float from_h =
            after ? reset * (gates.r[2] * h + gates.b[5]) : gates.r[2] * reset * h + gates.b[5];
        const float candidate = std::tanh(gates.w[2] * x + gates.b[2] + from_h);
        h = (1 - update) * candidate + update * h;
        expected[2 * t + n] = h;
      }
    }
    CheckClose(Run(model, {kX}), expected);
  }
}

TEST_CASE("RNN: backwards, a short sequence begins at its own last step; functions are chosen") {
  const Gates gates{{0.5F}, {0.25F}, {0.1F, 0.2F}};
  auto model = Layer("RNN", gates, {"x", "w", "r", "b", "lengths"});
  model.Set("direction", "reverse");
  Lengths(model, {3, 1});
  onnx::AttributeProto& names = *model.last().add_attribute();
  names.set_name("activations");
  names.set_type(onnx::AttributeProto::STRINGS);
  names.add_strings("Sigmoid");
  Floats expected(6);
  for (size_t n = 0; n < 2; ++n) {
    float h = 0;
    for (size_t t = n == 0 ? 3 : 1; t-- > 0;) {
      h = Sigmoid(gates.At(0, kX[2 * t + n], h));
      expected[2 * t + n] = h;
    }
  }
  CheckClose(Run(model, {kX}), expected);
}

}  // namespace
}  // namespace tenon::converter::test
