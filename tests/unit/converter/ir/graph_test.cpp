#include "converter/ir/graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "converter/ir/text.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {
namespace {

const Shape kShape({2, 3});

TensorId AddRelu(Graph& graph, TensorId x, std::string_view name) {
  auto made = graph.AddOpTensor(OpKind::kUnary, name, {x},
                                Attributes(UnaryAttributes{UnaryFunction::kRelu, 0, 0}));
  REQUIRE(made.ok());
  return *made;
}

std::vector<std::string> Names(const Graph& graph, const std::vector<OpId>& ops) {
  std::vector<std::string> names;
  for (OpId id : ops) names.push_back(graph.op(id).name);
  return names;
}
using NameList = std::vector<std::string>;

struct Chain {
  Graph graph;
  TensorId x = graph.AddTensor("x", DType::kF32, kShape);
  TensorId a = kNone, b = kNone, c = kNone;
  Chain() {
    graph.AddInput(x, "x");
    a = AddRelu(graph, x, "a");
    b = AddRelu(graph, a, "b");
    c = AddRelu(graph, a, "c");
    graph.AddOutput(c, "c");
  }
};

TEST_CASE("Graph: a taken name gets a suffix, an empty one a name") {
  Graph graph;
  CHECK(graph.tensor(graph.AddTensor("x", DType::kF32, kShape)).name == "x");
  CHECK(graph.tensor(graph.AddTensor("x_1", DType::kF32, kShape)).name == "x_1");
  CHECK(graph.tensor(graph.AddTensor("x", DType::kF32, kShape)).name == "x_2");
  CHECK(graph.tensor(graph.AddTensor("", DType::kF32, kShape)).name == "tensor");
}

TEST_CASE("Graph: the name of an erased tensor is free again") {
  Graph graph;
  graph.EraseTensor(graph.AddTensor("x", DType::kF32, kShape));
  CHECK(graph.FindTensor("x") == kNone);
  const TensorId again = graph.AddTensor("x", DType::kF32, kShape);
  CHECK(graph.FindTensor("x") == again);
}

TEST_CASE("Graph: a renamed tensor is found by its new name only") {
  Chain chain;
  chain.graph.RenameTensor(chain.a, "z");
  CHECK(chain.graph.FindTensor("z") == chain.a);
  CHECK(chain.graph.FindTensor("a") == kNone);
  CHECK(Verify(chain.graph).ok());
}

TEST_CASE("Graph: consumers come once each, in execution order") {
  Chain chain;
  Graph& graph = chain.graph;
  auto sum =
      graph.AddOp(OpKind::kBinary, "sum", {chain.a, chain.a}, Attributes(BinaryAttributes{}));
  REQUIRE(sum.ok());
  CHECK(Names(graph, graph.Consumers(chain.a)) == NameList{"b", "c", "sum"});
  graph.MoveOp(*sum, graph.tensor(chain.b).producer);
  CHECK(Names(graph, graph.Consumers(chain.a)) == NameList{"sum", "b", "c"});
}

TEST_CASE("Graph: the only consumer exists for one reader and no graph output") {
  Chain chain;
  CHECK(chain.graph.OnlyConsumer(chain.x) == chain.graph.tensor(chain.a).producer);
  CHECK(chain.graph.OnlyConsumer(chain.a) == kNone);
  CHECK(chain.graph.OnlyConsumer(chain.b) == kNone);
  AddRelu(chain.graph, chain.c, "d");
  CHECK(chain.graph.OnlyConsumer(chain.c) == kNone);  // also a graph output
}

TEST_CASE("Graph: inputs changed through op() are seen by the next question") {
  Chain chain;
  chain.graph.MutableOp(chain.graph.tensor(chain.c).producer).inputs[0] = chain.b;
  CHECK(Names(chain.graph, chain.graph.Consumers(chain.b)) == NameList{"c"});
  CHECK(Names(chain.graph, chain.graph.Consumers(chain.a)) == NameList{"b"});
}

TEST_CASE("Graph: replacing uses moves readers and output ports") {
  Chain chain;
  chain.graph.ReplaceUses(chain.a, chain.x);
  CHECK(Names(chain.graph, chain.graph.Consumers(chain.x)) == NameList{"a", "b", "c"});
  CHECK(chain.graph.Consumers(chain.a).empty());
  chain.graph.ReplaceUses(chain.c, chain.b);
  CHECK(chain.graph.outputs()[0].tensor == chain.b);
  CHECK(chain.graph.outputs()[0].name == "c");
  CHECK(chain.graph.IsOutput(chain.b));
  CHECK_FALSE(chain.graph.IsOutput(chain.c));
}

TEST_CASE("Graph: after any changes the readers are those that a walk over all ops finds") {
  std::mt19937 random(17);
  Graph graph;
  std::vector<TensorId> tensors;
  for (int i = 0; i < 6; ++i) {
    tensors.push_back(graph.AddTensor("x", DType::kF32, kShape));
    graph.AddInput(tensors.back(), fmt::format("x{}", i));
    graph.AddOutput(tensors.back(), fmt::format("y{}", i));
  }
  const auto any = [&] { return tensors[random() % tensors.size()]; };
  std::vector<OpId> ops;
  for (int step = 0; step < 2000; ++step) {
    const size_t at = ops.empty() ? 0 : random() % ops.size();
    const auto kind = ops.size() < 4 ? 0 : random() % 7;
    if (kind == 0) {
      std::vector<TensorId> inputs(1 + random() % 5);
      std::generate(inputs.begin(), inputs.end(), any);
      ops.push_back(*graph.AddOp(OpKind::kConcat, "join", inputs, Attributes(ConcatAttributes{})));
    } else if (kind == 1) {
      graph.EraseOp(ops[at]);
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind == 2) {
      graph.ReplaceUses(any(), any());
    } else if (kind == 3) {
      graph.SetInput(ops[at], 0, any());
    } else if (kind == 4) {
      graph.MutableOp(ops[at]).inputs.push_back(any());
    } else if (kind == 5) {
      std::vector<TensorId>& inputs = graph.MutableOp(ops[at]).inputs;
      if (inputs.size() > 1) inputs.erase(inputs.begin());
    } else {
      graph.MutableOp(ops[at]).inputs.back() = any();
      graph.SetInput(ops[at], 0, any());  // while the index does not know of the line above
    }
    if (step % 3 == 0) continue;  // several changes before a question
    for (const TensorId tensor : tensors) {
      std::vector<OpId> expected;
      for (const OpId id : graph.OpOrder()) {
        const std::vector<TensorId>& inputs = graph.op(id).inputs;
        if (std::count(inputs.begin(), inputs.end(), tensor) > 0) expected.push_back(id);
      }
      const auto is_port = [&](const Graph::Port& port) { return port.tensor == tensor; };
      const bool is_output = std::any_of(graph.outputs().begin(), graph.outputs().end(), is_port);
      REQUIRE(graph.Consumers(tensor) == expected);
      REQUIRE(graph.IsOutput(tensor) == is_output);
      REQUIRE(graph.IsRead(tensor) == (is_output || !expected.empty()));
      const bool only = expected.size() == 1 && !is_output;
      REQUIRE(graph.OnlyConsumer(tensor) == (only ? expected[0] : kNone));
    }
  }
}

TEST_CASE("Graph: fifty thousand readers and fifty thousand inputs are changed one by one") {
  constexpr int kMany = 50'000;
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, kShape);
  const TensorId one = graph.AddTensor("one", DType::kF32, kShape);
  const TensorId two = graph.AddTensor("two", DType::kF32, kShape);
  graph.AddInput(x, "x");
  graph.AddInput(one, "one");
  std::vector<TensorId> parts;
  for (int i = 0; i < kMany; ++i) {
    parts.push_back(
        *graph.AddOpTensor(OpKind::kBinary, "sum", {x, one}, Attributes(BinaryAttributes{})));
  }
  const TensorId whole =
      *graph.AddOpTensor(OpKind::kConcat, "join", parts, Attributes(ConcatAttributes{}));
  graph.AddOutput(whole, "y");
  // Quadratic work here would be billions of steps: minutes.
  for (const TensorId part : parts) {
    graph.SetInput(graph.tensor(part).producer, 1, two);
    graph.ReplaceUses(part, x);
    REQUIRE_FALSE(graph.IsRead(part));
  }
  CHECK(graph.Consumers(one).empty());
  CHECK(graph.Consumers(two).size() == kMany);
  CHECK(graph.Consumers(x).size() == kMany + 1);
}

TEST_CASE("Graph: erasing an op erases its outputs and frees its inputs") {
  Chain chain;
  chain.graph.EraseOp(chain.graph.tensor(chain.b).producer);
  CHECK(chain.graph.FindTensor("b") == kNone);
  CHECK(Names(chain.graph, chain.graph.OpOrder()) == NameList{"a", "c"});
  CHECK(chain.graph.OnlyConsumer(chain.a) == chain.graph.tensor(chain.c).producer);
  CHECK(Verify(chain.graph).ok());
}

TEST_CASE("Graph: ops inserted again and again at one place stay in order") {
  Chain chain;
  const OpId last = chain.graph.tensor(chain.c).producer;
  NameList expected = {"a", "b"};
  for (int i = 0; i < 100; ++i) {  // more often than a gap between labels can be halved
    const std::string name = fmt::format("i{}", i);
    const Attributes relu(UnaryAttributes{UnaryFunction::kRelu, 0, 0});
    REQUIRE(chain.graph.InsertOp(last, OpKind::kUnary, name, {chain.a}, relu).ok());
    expected.push_back(name);
  }
  expected.push_back("c");
  CHECK(Names(chain.graph, chain.graph.OpOrder()) == expected);
  expected.erase(expected.begin());
  CHECK(Names(chain.graph, chain.graph.Consumers(chain.a)) == expected);
}

TEST_CASE("Graph: a computed tensor made constant leaves its producer without readers") {
  Chain chain;
  const OpId producer = chain.graph.tensor(chain.a).producer;
  chain.graph.MakeConstant(chain.a, std::vector<std::byte>(24));
  CHECK(chain.graph.tensor(chain.a).IsConstant());
  CHECK_FALSE(chain.graph.IsRead(chain.graph.op(producer).outputs[0]));
  CHECK(Verify(chain.graph).ok());
}

TEST_CASE("Graph: a copy lives on its own") {
  Chain chain;
  Graph copy = chain.graph;
  chain.graph.ReplaceUses(chain.c, chain.b);
  chain.graph.EraseOp(chain.graph.tensor(chain.c).producer);
  CHECK(copy.outputs()[0].tensor == chain.c);
  CHECK(copy.Consumers(chain.a).size() == 2);
  CHECK(Verify(copy).ok());
}

TEST_CASE("Graph: an op that its row refuses is not added") {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({2, 3}));
  const TensorId w = graph.AddTensor("w", DType::kF32, Shape({4, 5}));
  const auto refused = graph.AddOp(OpKind::kMatMul, "m", {x, w}, Attributes(MatMulAttributes{}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kInput);
  CHECK(refused.error().message.find("matmul \"m\"") != std::string::npos);
  CHECK_FALSE(graph.AddOp(OpKind::kMatMul, "m", {x}, Attributes(MatMulAttributes{})).ok());
  CHECK_FALSE(graph.AddOp(OpKind::kMatMul, "m", {x, kNone}, Attributes(MatMulAttributes{})).ok());
  CHECK(graph.OpOrder().empty());
  CHECK(graph.Tensors().size() == 2);
}

TEST_CASE("Graph: attributes that are left out take the op's defaults") {
  Graph graph;
  const TensorId x = graph.AddTensor("x", DType::kF32, Shape({1, 2, 4, 4}));
  const TensorId w = graph.AddTensor("w", DType::kF32, Shape({3, 2, 1, 1}));
  const auto conv = graph.AddOp(OpKind::kConv, "conv", {x, w}, Attributes());
  REQUIRE(conv.ok());
  CHECK(graph.op(*conv).attributes == Attributes(ConvAttributes{}));
}

TEST_CASE("DenseStrides: channels last puts axis 1 innermost") {
  const Shape image({2, 3, 5, 7});
  CHECK(DenseStrides(image, Layout::kRowMajor) == std::vector<int32_t>{105, 35, 7, 1});
  CHECK(DenseStrides(image, Layout::kChannelsLast) == std::vector<int32_t>{105, 1, 21, 3});
  CHECK(DenseStrides(Shape({4, 6}), Layout::kChannelsLast) == std::vector<int32_t>{6, 1});
  CHECK(DenseStrides(Shape(), Layout::kRowMajor).empty());
}

TEST_CASE("OpCallView: shows shapes, dtypes and strides, and -1 for absent inputs") {
  auto graph = ParseGraph(
      "input %x: f32[1,2,4,4] channels_last\n"
      "const %w: f32[3,2,1,1] = splat(1)\n"
      "input %r: f32[1,3,4,4]\n"
      "%y = conv(%x, %w, _, %r)\n");
  REQUIRE(graph.ok());
  const OpCallView view(*graph, graph->op(graph->OpOrder()[0]));
  const OpCall& call = view.call();
  CHECK(call.Input(0).IsChannelsLast());
  CHECK(call.Input(1).shape() == Shape({3, 2, 1, 1}));
  CHECK_FALSE(call.HasInput(2));
  CHECK(call.Input(3).IsRowMajor());
  CHECK(call.Output().shape() == Shape({1, 3, 4, 4}));
  CHECK(call.AttributesAs<ConvAttributes>().strides[1] == 1);
}

}  // namespace
}  // namespace tenon::converter
