#include "converter/split/patch_rewrite.hpp"

#include <set>

#include "converter/ir/text.hpp"
#include "converter/split/chain_builder.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

using test::OutputsOf;
using test::RandomInputs;
using test::RandomNetwork;

/// The chain of at most `most` ops from position `first`.
Chain ChainFrom(const Graph& graph, const GraphOrder& order, int64_t first, size_t most,
                SplitDimension dimension) {
  ChainBuilder builder(graph, order, first, dimension);
  while (builder.chain().ops.size() < most && builder.Add()) {
  }
  return builder.chain();
}

int32_t MostRows(const Chain& chain) {
  int32_t rows = 0;
  for (size_t t = 0; t < chain.tensors.size(); ++t) {
    if (chain.IsExit(t)) rows = std::max(rows, chain.tensors[t].rows);
  }
  return rows;
}

TEST_CASE("Patches: random chains compute bit by bit what the whole ops do, however they are cut") {
  SplitMix64 dice(7);
  int cut = 0;
  std::set<OpKind> kinds;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const auto pick = [&](uint64_t count) { return dice.Next() % count; };
    const Graph graph =
        RandomNetwork(seed).Make(2 + static_cast<int>(pick(12)), 1 + static_cast<int32_t>(pick(3)));
    if (graph.OpOrder().empty()) continue;
    const GraphOrder order(graph);
    constexpr SplitDimension kDimensions[] = {SplitDimension::kHeight, SplitDimension::kWidth,
                                              SplitDimension::kBatch};
    const Chain chain =
        ChainFrom(graph, order, static_cast<int64_t>(pick(order.ops.size())),
                  1 + static_cast<size_t>(pick(12)), kDimensions[pick(8) < 6 ? 0 : 1 + pick(2)]);
    if (chain.ops.empty()) continue;
    const auto inputs = RandomInputs(graph, seed);
    const auto expected = OutputsOf(graph, inputs);
    const int32_t rows = MostRows(chain);
    for (const PatchPolicy policy : kPatchPolicies) {
      // Four times as many as an exit has rows: most make rows inside the chain alone.
      const auto most = static_cast<uint64_t>(policy == PatchPolicy::kRecompute ? rows : 4 * rows);
      const Patching patching{1 + static_cast<int32_t>(pick(most)), policy};
      CAPTURE(Name(policy));
      CAPTURE(patching.parts);
      Graph patched = graph;
      const Status status = CutIntoPatches(patched, {{&chain, patching}});
      REQUIRE_MESSAGE(status.ok(), status.error().message);
      const Status valid = Verify(patched);
      REQUIRE_MESSAGE(valid.ok(), valid.error().message);
      CHECK(OutputsOf(patched, inputs) == expected);
      ++cut;
    }
    for (const ChainOp& op : chain.ops) kinds.insert(graph.op(op.id).kind);
  }
  CHECK(cut > 600);
  CHECK(kinds.size() >= 9);  // the dice have shown every op that the networks have
}

TEST_CASE("Patches: one tensor is read along two axes in the same patch") {
  const auto parsed = ParseGraph(R"(input %x: f32[1,1,5,5]
const %c: f32[5,2] = random(1)
%a = unary(%x) {function=relu}
%b = matmul(%x, %c) {transpose_a=1}
output %a
output %b
)");
  REQUIRE(parsed.ok());
  const Chain chain = ChainFrom(*parsed, GraphOrder(*parsed), 0, 2, SplitDimension::kHeight);
  REQUIRE(chain.ops.size() == 2);
  Graph patched = *parsed;
  const Status status = CutIntoPatches(patched, {{&chain, {5, PatchPolicy::kRecompute}}});
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  const auto inputs = RandomInputs(*parsed, 3);
  CHECK(OutputsOf(patched, inputs) == OutputsOf(*parsed, inputs));
}

}  // namespace
}  // namespace tenon::converter
