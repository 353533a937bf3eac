// Transposed convolutions of float ONNX models, quantized: each is a convolution of integers and
// moves of bytes, and stays close to the float model.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "converter/ir/elements.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/models/quantized_float_models.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::test {
namespace {

using converter::RandomElements;

/// `up` stands between two convolutions, as where a network makes small pictures large again.
struct TransposedNet {
  const char* x;           ///< shape of the network's input
  const char* before;      ///< of the weights of the convolution in front
  const char* attributes;  ///< of the transposed convolution
  const char* weights;
  const char* bias;  ///< empty: none
  const char* after;
};

constexpr TransposedNet kNets[] = {
    {"1,3,8,8", "8,3,3,3", "strides=[2,2]", "8,6,2,2", "6", "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]", "8,6,3,3", "6",
     "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "strides=[2,2], pads=[1,1,1,1]", "8,6,4,4", "", "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "pads=[1,1,1,1]", "8,6,3,3", "6", "4,6,1,1"},
    {"1,3,7,5", "8,3,3,3", "strides=[3,2], pads=[1,0,2,1], output_padding=[1,0]", "8,6,5,4", "6",
     "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "group=2, strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]",
     "8,3,3,3", "6", "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "group=8, strides=[2,2], pads=[1,1,1,1]", "8,1,4,4", "8", "4,8,1,1"},
    {"1,3,8,8", "8,3,3,3", "strides=[2,2], dilations=[2,2]", "8,6,3,3", "6", "4,6,1,1"},
    {"1,3,8,8", "8,3,3,3", "strides=[2,2], auto_pad=\"SAME_UPPER\"", "8,6,3,3", "6", "4,6,1,1"},
    {"1,3,16", "8,3,3", "strides=[2], pads=[1,1]", "8,6,4", "6", "4,6,1"},
};

std::string TextOf(const TransposedNet& net) {
  const bool has_bias = net.bias[0] != '\0';
  const bool is_row = std::count(net.x, net.x + std::strlen(net.x), ',') == 2;
  return fmt::format(
      "net (float[{}] x, float[{}] before, float[{}] weights{}, float[{}] after) => (float y) {{\n"
      "  a = Conv<pads=[{}]>(x, before)\n"
      "  b = Relu(a)\n"
      "  up = ConvTranspose<{}>(b, weights{})\n"
      "  c = Relu(up)\n"
      "  y = Conv(c, after)\n"
      "}}",
      net.x, net.before, net.weights, has_bias ? fmt::format(", float[{}] bias", net.bias) : "",
      net.after, is_row ? "1,1" : "1,1,1,1", net.attributes, has_bias ? ", bias" : "");
}

/// Parses the text; inputs but the first become constants of random values.
onnx::ModelProto ModelOf(const TransposedNet& net) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::string text = TextOf(net);
  const auto status = onnx::OnnxParser::Parse(graph, text.c_str());
  REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  while (graph.input_size() > 1) {
    const onnx::ValueInfoProto& input = graph.input(graph.input_size() - 1);
    onnx::TensorProto& constant = *graph.add_initializer();
    constant.set_name(input.name());
    constant.set_data_type(onnx::TensorProto::FLOAT);
    int64_t elements = 1;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      constant.add_dims(dim.dim_value());
      elements *= dim.dim_value();
    }
    const auto seed = static_cast<uint64_t>(graph.input_size());
    const std::vector<std::byte> values = RandomElements(DType::kF32, elements, seed);
    constant.set_raw_data(values.data(), values.size());
    graph.mutable_input()->RemoveLast();
  }
  return model;
}

std::vector<int64_t> InputDims(const onnx::ModelProto& model) {
  std::vector<int64_t> dims;
  for (const auto& dim : model.graph().input(0).type().tensor_type().shape().dim()) {
    dims.push_back(dim.dim_value());
  }
  return dims;
}

int64_t Elements(const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  return elements;
}

converter::QuantizeOptions SamplesOf(const std::vector<int64_t>& dims) {
  constexpr int64_t kSamples = 16;
  converter::CalibrationArray array;
  array.name = "samples";
  array.shape = {kSamples};
  array.shape.insert(array.shape.end(), dims.begin(), dims.end());
  array.bytes = RandomElements(DType::kF32, kSamples * Elements(dims), /*seed=*/100);
  converter::QuantizeOptions options;
  options.arrays = {array};
  return options;
}

/// Checks that floats stand nowhere but in the model's input, its result, and what moves those.
void CheckComputesWithIntegers(const std::vector<uint8_t>& bytes) {
  const PlanBytes plan(bytes);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(plan.data()), plan.size()});
  REQUIRE(view.ok());
  const auto program = view->program(0);
  int convolutions = 0;
  int transforms = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const auto op = program.op(i);
    const auto kind = static_cast<OpKind>(op.kind);
    const auto dtype = [&](int32_t tensor) {
      return program.tensor(static_cast<size_t>(tensor)).dtype;
    };
    const DType from = dtype(op.inputs[0]);
    const DType to = dtype(op.outputs[0]);
    CAPTURE(OpName(kind));
    if (kind == OpKind::kQuantizedConv) {
      ++convolutions;
      CHECK(from == DType::kI8);
      CHECK(to == (convolutions == 3 ? DType::kF32 : DType::kI8));
    } else if (kind == OpKind::kQuantize) {
      ++transforms;
      CHECK(convolutions == 0);
    } else {
      static const std::set<OpKind> kMoves = {OpKind::kCopy,  OpKind::kReshape, OpKind::kTranspose,
                                              OpKind::kSlice, OpKind::kPad,     OpKind::kLookup,
                                              OpKind::kGather};
      CHECK(kMoves.contains(kind));
      CHECK(from == to);
      const bool between = convolutions == 1 || convolutions == 2;
      if (between) CHECK(to == DType::kI8);
    }
  }
  CHECK(convolutions == 3);
  CHECK(transforms == 1);
}

TEST_CASE("ConvTranspose, quantized: integers throughout, near the float model on other inputs") {
  for (const TransposedNet& net : kNets) {
    CAPTURE(net.attributes);
    const onnx::ModelProto model = ModelOf(net);
    const converter::test::TempFolder folder;
    converter::ConvertOptions options = OptionsFor();
    options.model = folder.path() / "net.onnx";
    converter::test::ModelBuilder builder(17);
    builder.proto = model;
    builder.Save(options.model);
    const auto plain = converter::Convert(options);
    REQUIRE_MESSAGE(plain.ok(), (plain.ok() ? "" : plain.error().message));
    const std::vector<int64_t> dims = InputDims(model);
    options.quantize = SamplesOf(dims);
    const auto quantized = converter::Convert(options);
    REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
    CHECK(quantized->quantization->integer_layers == 3);
    CHECK(quantized->quantization->float_layers == 0);
    CheckComputesWithIntegers(quantized->plan);

    const Arrays inputs = {RandomElements(DType::kF32, Elements(dims), /*seed=*/7)};
    const RunResult exact = RunPlan(plain->plan, inputs);
    const RunResult rounded = RunPlan(quantized->plan, inputs);
    RunSettings settings;
    settings.portable = true;
    const RunResult portable = RunPlan(quantized->plan, inputs, settings);
    REQUIRE_MESSAGE(exact.error.empty(), exact.error);
    REQUIRE_MESSAGE(rounded.error.empty(), rounded.error);
    REQUIRE_MESSAGE(portable.error.empty(), portable.error);
    CHECK(DecibelOf(exact.outputs.front(), rounded.outputs.front()) > 30);
    CHECK(rounded.outputs == portable.outputs);
  }
}

}  // namespace
}  // namespace tenon::test
