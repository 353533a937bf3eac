// What a shortcut reads of its input, copied before the input's other readers.
#include "converter/split/early_reads.hpp"

#include "converter/ir/text.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

using test::OptionsFor;
using test::OutputsOf;
using test::RandomInputs;
using test::RandomNetwork;

/// A stage of a residual network whose shortcut comes last: images of 5 by 7, of 3 by 3 behind.
constexpr const char* kStage = R"(graph g
input %x: f32[1,4,5,7]
const %v: f32[8,4,3,3] = random(1)
const %w: f32[8,8,3,3] = random(2)
const %s: f32[8,4,1,1] = random(3)
%a = unary(%x) {function=relu}
%b = conv(%a, %v) {strides=[2,3], pads=[1,1,1,1]}
%c = conv(%b, %w) {pads=[1,1,1,1]}
%d = conv(%a, %s) {strides=[2,3]}
%y = binary(%c, %d)
output %y
)";
constexpr int64_t kEntered = (4 * 5 * 7 + 8 * 3 * 3) * 4;  // %a and %b

OpId MakerOf(const Graph& graph, const std::string& tensor) {
  for (const OpId id : graph.OpOrder()) {
    if (graph.tensor(graph.op(id).outputs[0]).name == tensor) return id;
  }
  FAIL("no tensor " << tensor);
  return kNone;
}

TEST_CASE("Early reads: a shortcut no longer waits for its input, with the same bits") {
  const Graph whole = Parsed(kStage);
  Graph graph = whole;
  const auto reads = ReadEarly(graph, kEntered);
  REQUIRE(reads.ok());
  CHECK(*reads == 1);
  REQUIRE(Verify(graph).ok());
  const Op& shortcut = graph.op(MakerOf(graph, "d"));
  const auto conv = shortcut.attributes.As<ConvAttributes>();
  CHECK(conv.strides[0] == 1);
  CHECK(conv.strides[1] == 1);
  constexpr int32_t kRead[] = {1, 4, 3, 3};
  const Tensor& kept = graph.tensor(shortcut.inputs[0]);
  CHECK(kept.shape == Shape(kRead));
  CHECK(graph.op(kept.producer).kind == OpKind::kCopy);
  CHECK(graph.IsBefore(kept.producer, MakerOf(graph, "b")));
  const auto inputs = RandomInputs(whole, 1);
  CHECK(OutputsOf(graph, inputs) == OutputsOf(whole, inputs));
}

TEST_CASE("Early reads: what saves nothing stays") {
  const std::string stage = kStage;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = stage;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const auto reads_of = [](const std::string& text, int64_t most_bytes) {
    Graph graph = Parsed(text);
    const std::string before = PrintGraph(graph);
    const auto reads = ReadEarly(graph, most_bytes);
    REQUIRE(reads.ok());
    CHECK((*reads == 0) == (PrintGraph(graph) == before));
    return *reads;
  };
  CHECK(reads_of(stage, kEntered - 1) == 0);  // to be cut anyway
  CHECK(reads_of(replaced("output %y", "output %y\noutput %a"), kEntered) == 0);  // stays anyway
  // The shortcut is the first to read it.
  const std::string line = "%d = conv(%a, %s) {strides=[2,3]}\n";
  std::string first = replaced(line, "");
  first.insert(first.find("%b ="), line);
  CHECK(reads_of(first, kEntered) == 0);
  // Every pixel is read.
  std::string all = replaced("%a, %s) {strides=[2,3]}", "%a, %s)");
  all.replace(all.find("{strides=[2,3], pads"), 20, "{pads");
  CHECK(reads_of(all, int64_t{1} << 20) == 0);
}

TEST_CASE("Early reads: random networks give the same bits") {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph whole = RandomNetwork(seed).Make(12, 1);
    Graph graph = whole;
    const auto reads = ReadEarly(graph, INT64_MAX);
    REQUIRE(reads.ok());
    if (*reads == 0) continue;
    changed += *reads;
    REQUIRE(Verify(graph).ok());
    const auto inputs = RandomInputs(whole, seed);
    CHECK(OutputsOf(graph, inputs) == OutputsOf(whole, inputs));
  }
  CHECK(changed > 0);
}

}  // namespace
}  // namespace tenon::converter
