#include <doctest/doctest.h>

#include "converter/ir/graph.hpp"
#include "converter/ir/text.hpp"

namespace tenon::converter {
namespace {

// Two ops, every kind of tensor; `fault` breaks one rule.
std::string MessageAfter(void (*fault)(Graph&)) {
  auto graph = ParseGraph(
      "input %x: f32[2,3]\n"
      "const %k: f32[3] = [1, 2, 3]\n"
      "%a = binary(%x, %k) {function=mul}\n"
      "%b = unary(%a) {function=relu}\n"
      "output %b\n");
  REQUIRE(graph.ok());
  fault(*graph);
  const Status status = Verify(*graph);
  if (status.ok()) return "ok";
  CHECK(status.error().kind == ErrorKind::kInternal);
  return status.error().message;
}

OpId Producer(const Graph& graph, const char* name) {
  return graph.tensor(graph.FindTensor(name)).producer;
}

#define CHECK_REFUSED(part, ...)                                     \
  do {                                                               \
    const std::string message = MessageAfter(__VA_ARGS__);           \
    CHECK_MESSAGE(message.find(part) != std::string::npos, message); \
  } while (false)

TEST_CASE("Verify: a valid graph passes") {
  CHECK(MessageAfter([](Graph&) {}) == "ok");
}

TEST_CASE("Verify: refuses a name changed to one that is taken") {
  CHECK_REFUSED("is taken", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("b")).name = std::string("a");
  });
}

TEST_CASE("Verify: refuses an empty name") {
  CHECK_REFUSED("no name",
                [](Graph& graph) { graph.MutableTensor(graph.FindTensor("b")).name.clear(); });
}

TEST_CASE("Verify: refuses an order that is not topological") {
  CHECK_REFUSED("before the producer of %a", [](Graph& graph) {
    const std::vector<OpId> order = graph.OpOrder();
    graph.SetOrder({order[1], order[0]});
  });
}

TEST_CASE("Verify: refuses an order that misses an op") {
  CHECK_REFUSED("missing from the order",
                [](Graph& graph) { graph.SetOrder({graph.OpOrder()[0]}); });
}

TEST_CASE("Verify: refuses an order with an op twice") {
  CHECK_REFUSED("twice", [](Graph& graph) {
    const std::vector<OpId> order = graph.OpOrder();
    graph.SetOrder({order[0], order[0], order[1]});
  });
}

TEST_CASE("Verify: refuses an order that names no op") {
  CHECK_REFUSED("which is gone", [](Graph& graph) { graph.SetOrder({0, 1, 77}); });
}

TEST_CASE("Verify: refuses an id out of range") {
  CHECK_REFUSED("reads a tensor that is gone",
                [](Graph& graph) { graph.MutableOp(Producer(graph, "b")).inputs[0] = 1000; });
}

TEST_CASE("Verify: refuses an absent input that the op needs") {
  CHECK_REFUSED("unary \"b\"",
                [](Graph& graph) { graph.MutableOp(Producer(graph, "b")).inputs[0] = kNone; });
}

TEST_CASE("Verify: refuses an output of another shape than the op's rule gives") {
  CHECK_REFUSED("unary \"b\"", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("b")).shape = Shape({3, 2});
  });
}

TEST_CASE("Verify: refuses an output of another dtype than the op's rule gives") {
  CHECK_REFUSED("unary \"b\"", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("b")).dtype = DType::kF16;
  });
}

TEST_CASE("Verify: refuses a shape with a negative dimension") {
  CHECK_REFUSED("no valid shape",
                [](Graph& graph) { graph.MutableTensor(graph.FindTensor("b")).shape[0] = -2; });
}

TEST_CASE("Verify: refuses a constant with too few bytes") {
  CHECK_REFUSED("holds 8 bytes, its type needs 12", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("k")).constant =
        std::make_shared<const std::vector<std::byte>>(size_t{8});
  });
}

TEST_CASE("Verify: refuses an op that writes a constant") {
  CHECK_REFUSED("constant %b", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("b")).constant =
        std::make_shared<const std::vector<std::byte>>(size_t{24});
  });
}

TEST_CASE("Verify: refuses an op that writes an input") {
  CHECK_REFUSED("input %a", [](Graph& graph) { graph.AddInput(graph.FindTensor("a"), "again"); });
}

TEST_CASE("Verify: refuses two ops that write one tensor") {
  CHECK_REFUSED("which has another producer", [](Graph& graph) {
    graph.MutableOp(Producer(graph, "a")).outputs[0] = graph.FindTensor("b");
    graph.MutableTensor(graph.FindTensor("a")).producer = kNone;
    graph.MutableOp(Producer(graph, "b")).inputs[0] = graph.FindTensor("x");
  });
}

TEST_CASE("Verify: refuses a tensor whose producer does not write it") {
  CHECK_REFUSED("does not write it", [](Graph& graph) {
    graph.MutableTensor(graph.FindTensor("b")).producer = Producer(graph, "a");
  });
}

TEST_CASE("Verify: refuses a tensor that is read but never written") {
  CHECK_REFUSED("never written", [](Graph& graph) {
    graph.MutableOp(Producer(graph, "b")).inputs[0] =
        graph.AddTensor("t", DType::kF32, Shape({2, 3}));
  });
}

TEST_CASE("Verify: refuses attributes that the op cannot have") {
  CHECK_REFUSED("unary \"b\"", [](Graph& graph) {
    graph.MutableOp(Producer(graph, "b")).attributes =
        Attributes(UnaryAttributes{static_cast<UnaryFunction>(99), 0, 0});
  });
}

TEST_CASE("Verify: refuses attributes of another op's size") {
  CHECK_REFUSED("attribute words", [](Graph& graph) {
    graph.MutableOp(Producer(graph, "b")).attributes = Attributes(ConvAttributes{});
  });
}

TEST_CASE("Verify: refuses a port whose tensor is gone") {
  CHECK_REFUSED("points to a tensor that is gone", [](Graph& graph) {
    graph.EraseTensor(graph.AddTensor("t", DType::kF32, Shape()));
    graph.AddOutput(static_cast<TensorId>(4), "t");
  });
}

TEST_CASE("Verify: refuses two outputs of one name") {
  CHECK_REFUSED("two outputs are called \"b\"",
                [](Graph& graph) { graph.AddOutput(graph.FindTensor("a"), "b"); });
}

TEST_CASE("Verify: refuses inputs changed through an old reference") {
  CHECK_REFUSED("old reference", [](Graph& graph) {
    Op& op = graph.MutableOp(Producer(graph, "b"));
    REQUIRE(graph.Consumers(graph.FindTensor("x")).size() == 1);
    op.inputs[0] = graph.FindTensor("x");
  });
}

}  // namespace
}  // namespace tenon::converter
