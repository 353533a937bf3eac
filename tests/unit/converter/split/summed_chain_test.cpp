// Chains that end in an average over all rows, which patches sum up.
#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_rewrite.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

struct Net {
  int32_t rows = 13;
  Rounding rounding = Rounding::kHalfAway;
  bool padded = false;
  bool read_twice = false;
};

QuantizedOutput Bytes(Rounding rounding) {
  QuantizedOutput output;
  output.rounding = rounding;
  output.zero_point = -3;
  output.min = -120;
  output.max = 101;
  return output;
}

/// Two depthwise convolutions of 3x3 and the average of all their rows.
Graph MakeNet(const Net& net) {
  constexpr int32_t kChannels = 6;
  SplitMix64 random(5);
  Graph graph;
  const int32_t dims[] = {1, kChannels, net.rows, 4};
  TensorId x = graph.AddTensor("x", DType::kI8, Shape(dims, 4));
  graph.AddInput(x, "x");
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<int8_t> weights(kChannels * 9);
    for (int8_t& weight : weights) weight = static_cast<int8_t>(random.Next());
    const int32_t w_dims[] = {kChannels, 1, 3, 3};
    const int32_t one[] = {1};
    const TensorId w = graph.AddConstantOf("w", DType::kI8, Shape(w_dims, 4), weights);
    const TensorId scale =
        graph.AddConstantOf<float>("scale", DType::kF32, Shape(one, 1), {0.004F});
    QuantizedConvAttributes conv;
    conv.conv.group = kChannels;
    for (int32_t& pad : conv.conv.pads) pad = 1;
    conv.output = Bytes(Rounding::kHalfEven);
    const auto made =
        graph.AddOpTensor(OpKind::kQuantizedConv, "conv", {x, w, kNone, scale}, Attributes(conv));
    REQUIRE_MESSAGE(made.ok(), made.error().message);
    x = *made;
  }
  QuantizedAveragePoolAttributes pool;
  pool.pool.kernel[0] = net.rows;
  pool.pool.kernel[1] = 4;
  if (net.padded) pool.pool.pads[0] = 1;
  pool.x_zero_point = -3;
  pool.scale.scale = 0.7F;
  pool.output = Bytes(net.rounding);
  const auto average =
      graph.AddOpTensor(OpKind::kQuantizedAveragePool, "average", {x}, Attributes(pool));
  REQUIRE_MESSAGE(average.ok(), average.error().message);
  graph.AddOutput(*average, "average");
  if (net.read_twice) graph.AddOutput(x, "rows");
  return graph;
}

/// The chain of all convolutions; `sums` says whether it ends in the average.
Chain ChainOf(const Graph& graph, const GraphOrder& order, bool& sums) {
  ChainBuilder builder(graph, order, 0, SplitDimension::kHeight);
  while (builder.chain().ops.size() < 2 && builder.Add()) {
  }
  Chain chain = builder.chain();
  sums = ChainBuilder::Accumulate(graph, order, chain);
  return chain;
}

/// Cuts the net into 1 to 13 patches in every way, with sums of that dtype between them.
void CheckPatches(const Net& net, DType sum) {
  const Graph graph = MakeNet(net);
  const GraphOrder order(graph);
  bool sums = false;
  const Chain chain = ChainOf(graph, order, sums);
  REQUIRE(sums);
  CHECK(chain.sum_dtype == sum);
  const auto inputs = test::RandomInputs(graph, 11);
  const auto expected = test::OutputsOf(graph, inputs);
  for (const PatchPolicy policy : kPatchPolicies) {
    for (int32_t parts = 1; parts <= 13; ++parts) {
      CAPTURE(Name(policy));
      CAPTURE(parts);
      Graph patched = graph;
      const Status status = CutIntoPatches(patched, {{&chain, {parts, policy}}});
      REQUIRE_MESSAGE(status.ok(), status.error().message);
      const Status valid = Verify(patched);
      REQUIRE_MESSAGE(valid.ok(), valid.error().message);
      CHECK(test::OutputsOf(patched, inputs) == expected);
      int32_t most = 0;  // rows of anything that is made
      for (const OpId id : patched.OpOrder()) {
        most = std::max(most, patched.tensor(patched.op(id).outputs[0]).shape[2]);
      }
      if (parts >= 7) CHECK(most < net.rows);
    }
  }
}

TEST_CASE("Summed chains: an average over all rows has the same bytes however many patches") {
  for (const Rounding rounding : {Rounding::kHalfAway, Rounding::kHalfEven}) {
    CheckPatches({13, rounding, false, false}, DType::kI16);
    CheckPatches({33, rounding, false, false}, DType::kI32);  // more than 16 bits hold
  }
}

TEST_CASE("Summed chains: with padding, or rows that others read, there is none") {
  for (const Net& net :
       {Net{13, Rounding::kHalfAway, true, false}, Net{13, Rounding::kHalfAway, false, true}}) {
    const Graph graph = MakeNet(net);
    const GraphOrder order(graph);
    bool sums = true;
    const Chain chain = ChainOf(graph, order, sums);
    CHECK_FALSE(sums);
    CHECK(chain.accumulator == kNone);
  }
}

}  // namespace
}  // namespace tenon::converter
