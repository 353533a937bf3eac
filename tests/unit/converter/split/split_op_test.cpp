#include "converter/split/split_op.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "converter/ir/elements.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"

namespace tenon::converter {
namespace {

std::vector<std::string> OpNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const OpId id : graph.OpOrder()) names.push_back(graph.op(id).name);
  return names;
}

OpId FindOp(const Graph& graph, const std::string& name) {
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).name == name) return id;
  }
  FAIL("no op " << name);
  return kNone;
}

TensorId Constant(Graph& graph, const std::string& name, const Shape& shape, uint64_t seed) {
  return graph.AddConstant(name, DType::kF32, shape,
                           RandomElements(DType::kF32, shape.Elements(), seed));
}

/// relu -> conv_3 (4x4x9 -> 6x4x9, bias, residual, hard-swish) -> output.
Graph ConvGraph() {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({1, 4, 9, 9}));
  const TensorId residual = graph.AddTensor("residual", DType::kF32, Shape({1, 6, 9, 9}));
  graph.AddInput(x, "x");
  graph.AddInput(residual, "residual");
  const auto relu = graph.AddOpTensor(OpKind::kUnary, "relu", {x},
                                      Attributes(UnaryAttributes{UnaryFunction::kRelu, 0, 0}));
  ConvAttributes attributes;
  std::fill_n(attributes.pads, 4, 1);
  attributes.activation.function = UnaryFunction::kHardSwish;
  const auto y = graph.AddOpTensor(OpKind::kConv, "conv_3",
                                   {*relu, Constant(graph, "w", Shape({6, 4, 3, 3}), 1),
                                    Constant(graph, "b", Shape({6}), 2), residual},
                                   Attributes(attributes), "features");
  graph.AddOutput(*y, "y");
  return graph;
}

/// The same weights as i8, with a scale for each output channel.
void StoreAsInt8(Graph& graph, OpId id, size_t scale_input, int32_t outputs) {
  const Tensor& weights = graph.tensor(graph.op(id).inputs[1]);
  std::vector<int8_t> bytes;
  for (const double value : ReadElements(weights)) {
    bytes.push_back(static_cast<int8_t>(std::lround(127 * value)));
  }
  std::vector<float> scales;
  for (int32_t m = 0; m < outputs; ++m) scales.push_back(0.001F * static_cast<float>(m + 1));
  const TensorId stored = graph.AddConstantOf("w.i8", DType::kI8, weights.shape, bytes);
  graph.MutableOp(id).inputs[1] = stored;
  graph.MutableOp(id).inputs.resize(scale_input + 1, kNone);
  graph.MutableOp(id).inputs[scale_input] =
      graph.AddConstantOf("w.scale", DType::kF32, Shape({outputs}), scales);
}

/// y = relu(a b + bias) with `rows` rows.
Graph GemmGraph(int32_t rows) {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({rows, 12}));
  graph.AddInput(x, "x");
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  attributes.activation.function = UnaryFunction::kRelu;
  const auto y = graph.AddOpTensor(
      OpKind::kMatMul, "gemm",
      {x, Constant(graph, "w", Shape({10, 12}), 1), Constant(graph, "b", Shape({10}), 2)},
      Attributes(attributes));
  graph.AddOutput(*y, "y");
  return graph;
}

std::vector<std::byte> OutputOf(const Graph& graph) {
  const Status verified = Verify(graph);
  REQUIRE_MESSAGE(verified.ok(), (verified.ok() ? "" : verified.error().message));
  const test::Evaluation evaluation = test::EvaluateGraph(graph, test::RandomInputs(graph, 7));
  REQUIRE(evaluation.error == "");
  return evaluation.values.at(graph.outputs()[0].tensor);
}

double LargestDifference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t at = 0; at < a.size(); at += sizeof(float)) {
    largest = std::max(
        largest, std::abs(ReadElement(DType::kF32, &a[at]) - ReadElement(DType::kF32, &b[at])));
  }
  return largest;
}

TEST_CASE(
    "Split op: parts stand where the op stood, each after its slices, one concat joins them") {
  Graph graph = ConvGraph();
  const auto parts = SplitOp(graph, FindOp(graph, "conv_3"), 2, 3);
  REQUIRE(parts.ok());
  CHECK(parts->size() == 3);
  CHECK(OpNames(graph) ==
        std::vector<std::string>{"relu", "conv_3/part_1/input_0", "conv_3/part_1/input_3",
                                 "conv_3/part_1", "conv_3/part_2/input_0", "conv_3/part_2/input_3",
                                 "conv_3/part_2", "conv_3/part_3/input_0", "conv_3/part_3/input_3",
                                 "conv_3/part_3", "conv_3/join"});
  CHECK(graph.tensor(graph.outputs()[0].tensor).name == "features");
}

TEST_CASE("Split op: bit-equal along every dimension, into any number of parts") {
  const std::vector<std::byte> whole = OutputOf(ConvGraph());
  for (int32_t axis = 1; axis < 4; ++axis) {
    for (int32_t parts = 2; parts <= 9; ++parts) {
      Graph graph = ConvGraph();
      REQUIRE(SplitOp(graph, FindOp(graph, "conv_3"), axis, parts).ok());
      CHECK(OutputOf(graph) == whole);
    }
  }
}

TEST_CASE("Split op: parts of stored weights have their part of the scales") {
  const auto stored = [] {
    Graph graph = ConvGraph();
    StoreAsInt8(graph, FindOp(graph, "conv_3"), 4, 6);
    return graph;
  };
  const std::vector<std::byte> whole = OutputOf(stored());
  for (int32_t axis = 1; axis < 4; ++axis) {
    Graph graph = stored();
    REQUIRE(SplitOp(graph, FindOp(graph, "conv_3"), axis, 3).ok());
    CHECK(OutputOf(graph) == whole);
  }
  Graph added = stored();
  REQUIRE(SplitInputChannels(added, FindOp(added, "conv_3"), 2).ok());
  CHECK(LargestDifference(OutputOf(added), whole) < 1e-5);
}

TEST_CASE("Split op: products of stored weights are cut in every way") {
  for (const int32_t rows : {1, 3}) {
    const auto stored = [&] {
      Graph graph = GemmGraph(rows);
      StoreAsInt8(graph, FindOp(graph, "gemm"), 3, 10);
      return graph;
    };
    const std::vector<std::byte> whole = OutputOf(stored());
    Graph columns = stored();
    REQUIRE(SplitOp(columns, FindOp(columns, "gemm"), 1, 3).ok());
    CHECK(OutputOf(columns) == whole);
    Graph added = stored();
    REQUIRE(SplitInputChannels(added, FindOp(added, "gemm"), 4).ok());
    CHECK(LargestDifference(OutputOf(added), whole) < 1e-5);
  }
}

TEST_CASE("Split op: equal ranges are as few as their length allows, the last may be shorter") {
  const auto lengths = [](int32_t extent, int32_t granularity, int32_t parts) {
    std::vector<int32_t> result;
    for (const IndexRange& range : EqualRanges(extent, granularity, parts)) {
      result.push_back(range.size());
    }
    return result;
  };
  CHECK(lengths(9, 1, 3) == std::vector<int32_t>{3, 3, 3});
  CHECK(lengths(9, 1, 4) == std::vector<int32_t>{3, 3, 3});
  CHECK(lengths(9, 2, 4) == std::vector<int32_t>{4, 4, 1});
  CHECK(lengths(9, 1, 5) == std::vector<int32_t>{2, 2, 2, 2, 1});
  CHECK(lengths(9, 1, 100) == std::vector<int32_t>(9, 1));
  CHECK(lengths(9, 16, 2) == std::vector<int32_t>{9});
}

TEST_CASE("Split op: parts of parts read the tensor itself, not slices of slices") {
  Graph graph = ConvGraph();
  const std::vector<std::byte> whole = OutputOf(graph);
  OperandCutter cutter(graph);
  const auto rows = SplitOp(graph, cutter, FindOp(graph, "conv_3"), 2, EqualRanges(9, 1, 2));
  REQUIRE(rows.ok());
  for (const OpId part : *rows) {
    REQUIRE(SplitOp(graph, cutter, part, 3, EqualRanges(9, 1, 2)).ok());
  }
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kSlice) continue;
    const OpId producer = graph.tensor(op.inputs[0]).producer;
    CHECK((producer == kNone || graph.op(producer).kind != OpKind::kSlice));
    CHECK(graph.IsRead(op.outputs[0]));
  }
  CHECK(OutputOf(graph) == whole);
}

TEST_CASE("Split op: constants are cut when the op is, and equal pieces are one constant") {
  Graph graph = ConvGraph();
  OperandCutter cutter(graph);
  const auto rows = SplitOp(graph, cutter, FindOp(graph, "conv_3"), 2, EqualRanges(9, 1, 3));
  REQUIRE(rows.ok());
  for (const OpId part : *rows) {
    REQUIRE(SplitOp(graph, cutter, part, 1, EqualRanges(6, 1, 2)).ok());
  }
  int constants = 0;
  int64_t bytes = 0;
  for (const TensorId id : graph.Tensors()) {
    if (!graph.tensor(id).IsConstant()) continue;
    ++constants;
    bytes += graph.tensor(id).ByteSize();
  }
  CHECK(constants == 4);  // two halves of the weights, two of the bias
  CHECK(bytes == (6 * 4 * 3 * 3 + 6) * 4);
}

TEST_CASE("Split op: an operand used twice alike is sliced once") {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({4, 6}));
  graph.AddInput(x, "x");
  const auto y = graph.AddOpTensor(OpKind::kBinary, "square", {x, x},
                                   Attributes(BinaryAttributes{BinaryFunction::kMul, {}}));
  graph.AddOutput(*y, "y");
  REQUIRE(SplitOp(graph, FindOp(graph, "square"), 1, 2).ok());
  CHECK(OpNames(graph) == std::vector<std::string>{"square/part_1/input_0", "square/part_1",
                                                   "square/part_2/input_0", "square/part_2",
                                                   "square/join"});
}

TEST_CASE("Split op: an axis that the op works along is refused") {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({4, 6}));
  graph.AddInput(x, "x");
  const auto y =
      graph.AddOpTensor(OpKind::kSoftmax, "softmax", {x}, Attributes(SoftmaxAttributes{1, 0}));
  graph.AddOutput(*y, "y");
  const auto refused = SplitOp(graph, FindOp(graph, "softmax"), 1, 2);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "op \"softmax\" cannot be cut along axis 1");
  CHECK(SplitOp(graph, FindOp(graph, "softmax"), 0, 2).ok());
}

/// A part of one element between reduced axes lets the kernel take these as one, in another order
/// of summing up.
bool MayRoundOtherwise(const Op& op, const std::vector<IndexRange>& ranges) {
  if (op.kind != OpKind::kReduce) return false;
  const auto mask = static_cast<uint32_t>(op.attributes.As<ReduceAttributes>().axes_mask);
  const uint32_t lowest = mask & (~mask + 1);
  const bool is_one_run = (mask & (mask + lowest)) == 0;
  return !is_one_run && std::any_of(ranges.begin(), ranges.end(),
                                    [](const IndexRange& range) { return range.size() == 1; });
}

TEST_CASE("Split op: every op of random graphs, along random axes, changes no bit") {
  int splits = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    Graph graph = test::RandomGraph(seed);
    const auto inputs = test::RandomInputs(graph, seed);
    const test::Evaluation before = test::EvaluateGraph(graph, inputs);
    REQUIRE(before.error == "");
    SplitMix64 random(seed);
    OperandCutter cutter(graph);
    for (const OpId id : graph.OpOrder()) {
      if (!graph.IsOp(id)) continue;
      const int32_t rank = graph.tensor(graph.op(id).outputs[0]).shape.rank;
      if (rank == 0) continue;
      const auto axis = static_cast<int32_t>(random.Next() % static_cast<uint64_t>(rank));
      const auto cut = FindCut(graph, graph.op(id), axis);
      if (!cut.has_value() || cut->extent == 0) continue;
      const auto count = 2 + static_cast<int32_t>(random.Next() % 3);
      const auto ranges = EqualRanges(cut->extent, cut->granularity, count);
      if (MayRoundOtherwise(graph.op(id), ranges)) continue;
      REQUIRE(SplitOp(graph, cutter, id, axis, ranges).ok());
      if (ranges.size() > 1) ++splits;
    }
    const Status verified = Verify(graph);
    REQUIRE_MESSAGE(verified.ok(), (verified.ok() ? "" : verified.error().message));
    const test::Evaluation after = test::EvaluateGraph(graph, inputs);
    REQUIRE(after.error == "");
    const Graph original = test::RandomGraph(seed);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      CAPTURE(seed);
      CHECK(after.values.at(graph.outputs()[i].tensor) ==
            before.values.at(original.outputs()[i].tensor));
    }
  }
  CHECK(splits > 500);
}

TEST_CASE("Split input channels: a convolution's parts add up, bias first, activation last") {
  Graph graph = ConvGraph();
  const std::vector<std::byte> whole = OutputOf(graph);
  const auto parts = SplitInputChannels(graph, FindOp(graph, "conv_3"), 3);
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 2);  // 4 channels in threes: 2 and 2
  const Op& first = graph.op((*parts)[0]);
  const Op& last = graph.op((*parts)[1]);
  CHECK(graph.tensor(first.inputs[2]).name == "b");
  CHECK(graph.tensor(first.inputs[3]).name == "residual");
  CHECK(first.attributes.As<ConvAttributes>().activation.function == UnaryFunction::kIdentity);
  CHECK(last.inputs[2] == kNone);
  CHECK(last.inputs[3] == first.outputs[0]);
  CHECK(last.attributes.As<ConvAttributes>().activation.function == UnaryFunction::kHardSwish);
  CHECK(graph.tensor(last.outputs[0]).name == "features");
  CHECK(LargestDifference(OutputOf(graph), whole) < 1e-4);
}

TEST_CASE("Split input channels: a product of one row takes the sum as its bias") {
  Graph graph = GemmGraph(1);
  const std::vector<std::byte> whole = OutputOf(graph);
  REQUIRE(SplitInputChannels(graph, FindOp(graph, "gemm"), 4).ok());
  for (const OpId id : graph.OpOrder()) CHECK(graph.op(id).kind != OpKind::kBinary);
  CHECK(LargestDifference(OutputOf(graph), whole) < 1e-5);
}

TEST_CASE("Split input channels: products of several rows are added by ops of their own") {
  Graph graph = GemmGraph(5);
  const std::vector<std::byte> whole = OutputOf(graph);
  REQUIRE(SplitInputChannels(graph, FindOp(graph, "gemm"), 4).ok());
  int sums = 0;
  for (const OpId id : graph.OpOrder()) sums += graph.op(id).kind == OpKind::kBinary ? 1 : 0;
  CHECK(sums == 3);
  CHECK(LargestDifference(OutputOf(graph), whole) < 1e-5);
}

TEST_CASE("Split input channels: groups and other ops have none to share out") {
  Graph graph = ConvGraph();
  CHECK(InputChannels(graph, graph.op(FindOp(graph, "relu"))) == 0);
  CHECK(InputChannels(graph, graph.op(FindOp(graph, "conv_3"))) == 4);
  const auto refused = SplitInputChannels(graph, FindOp(graph, "relu"), 2);
  CHECK(refused.ok());  // nothing to cut: one part
  OperandCutter cutter(graph);
  const auto wrong = SplitInputChannels(graph, cutter, FindOp(graph, "relu"), EqualRanges(4, 1, 2));
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message == "op \"relu\" does not add up input channels");
}

}  // namespace
}  // namespace tenon::converter
