#include "converter/quantize/choose_ops.hpp"

#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

std::set<std::string> Names(const Graph& graph, const std::set<OpId>& ops) {
  std::set<std::string> names;
  for (const OpId id : ops) names.insert(graph.op(id).name);
  return names;
}
std::set<std::string> TensorNames(const Graph& graph, const std::set<TensorId>& tensors) {
  std::set<std::string> names;
  for (const TensorId id : tensors) names.insert(graph.tensor(id).name);
  return names;
}
using Strings = std::set<std::string>;

constexpr std::string_view kChosenNet =
    "input %x: f32[1,2,8,8]\n"
    "const %w: f32[2,2,1,1] = random(1)\n"
    "const %v: f32[3,2,1,1] = random(2)\n"
    "%a = conv(%x, %w)\n"
    "%r = unary(%a) {function=relu}\n"
    "%p = max_pool(%r) {kernel=[2,2], strides=[2,2]}\n"
    "%b = conv(%p, %v)\n"
    "%s = softmax(%b) {axis=1}\n"
    "output %s\n";

TEST_CASE("ChooseIntegerOps: layers and what stands between them; the end stays float") {
  const Graph graph = GraphOf(kChosenNet);
  const IntegerOps chosen = ChooseIntegerOps(graph, {});
  CHECK(Names(graph, chosen.ops) == Strings{"a", "r", "p", "b"});
  CHECK(TensorNames(graph, chosen.inner) == Strings{"a"});
  CHECK(TensorNames(graph, QuantizedTensors(graph, chosen)) == Strings{"x", "r", "p"});
}

TEST_CASE("ChooseIntegerOps: normalisations between layers, unless they have no mean") {
  const std::string head =
      "input %x: f32[4,8]\nconst %w: f32[8,8] = random(1)\nconst %g: f32[8] = random(2)\n"
      "%a = matmul(%x, %w)\n";
  const std::string tail = "%y = matmul(%n, %w)\noutput %y\n";
  const Graph mean = GraphOf(head + "%n = layer_norm(%a, %g)\n" + tail);
  CHECK(Names(mean, ChooseIntegerOps(mean, {}).ops) == Strings{"a", "n", "y"});
  const Graph rms = GraphOf(head + "%n = layer_norm(%a, %g) {rms=1}\n" + tail);
  CHECK(Names(rms, ChooseIntegerOps(rms, {}).ops) == Strings{"a", "y"});
}

TEST_CASE("ChooseIntegerOps: around a layer kept float, what only fed it is float too") {
  const Graph graph = GraphOf(kChosenNet);
  const IntegerOps last = ChooseIntegerOps(graph, {OpNamed(graph, "b")});
  CHECK(Names(graph, last.ops) == Strings{"a"});
  CHECK(TensorNames(graph, QuantizedTensors(graph, last)) == Strings{"x"});
  // A relu of floats is float; moving integers is cheaper than moving floats.
  const IntegerOps first = ChooseIntegerOps(graph, {OpNamed(graph, "a")});
  CHECK(Names(graph, first.ops) == Strings{"p", "b"});
  CHECK(TensorNames(graph, QuantizedTensors(graph, first)) == Strings{"r", "p"});
}

TEST_CASE("ChooseIntegerOps: an addition of two integer branches, and its relu, are integers") {
  const Graph graph = GraphOf(
      "input %x: f32[1,2,4,4]\nconst %w: f32[2,2,1,1] = random(1)\n"
      "%a = conv(%x, %w)\n%b = conv(%x, %w)\n%s = binary(%a, %b) {function=add}\n"
      "%r = unary(%s) {function=relu}\n%y = conv(%r, %w)\noutput %y\n");
  const IntegerOps chosen = ChooseIntegerOps(graph, {});
  CHECK(Names(graph, chosen.ops) == Strings{"a", "b", "s", "r", "y"});
  CHECK(TensorNames(graph, chosen.inner) == Strings{"s"});
  CHECK(TensorNames(graph, QuantizedTensors(graph, chosen)) == Strings{"x", "a", "b", "r"});
}

TEST_CASE("WhyFloat: weights that are computed, functions without an integer form") {
  const Graph graph = GraphOf(
      "input %x: f32[4,4]\nconst %c: f32[4,4] = random(1)\n"
      "%m = matmul(%x, %x)\n%e = unary(%x) {function=exp}\n%d = binary(%x, %c) {function=div}\n"
      "%n = matmul(%x, %c)\n"
      "output %m\noutput %e\noutput %d\noutput %n\n");
  CHECK(WhyFloat(graph, OpNamed(graph, "m")) == "its weights are not constant");
  CHECK(!WhyFloat(graph, OpNamed(graph, "e")).empty());
  CHECK(!WhyFloat(graph, OpNamed(graph, "d")).empty());
  CHECK(WhyFloat(graph, OpNamed(graph, "n")).empty());
}

TEST_CASE("WhyFloat: other types than f32") {
  const Graph graph = GraphOf(
      "input %x: f16[4,4]\nconst %c: f16[4,4] = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]\n"
      "%n = matmul(%x, %c)\noutput %n\n");
  CHECK(WhyFloat(graph, OpNamed(graph, "n")) == "it does not compute in f32");
}

}  // namespace
}  // namespace tenon::converter
