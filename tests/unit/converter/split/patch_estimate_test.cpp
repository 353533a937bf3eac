#include <doctest/doctest.h>

#include "converter/ir/text.hpp"
#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"

namespace tenon::converter {
namespace {

/// Two convolutions of 3 rows, padded, on 8 rows of one float each.
Chain TwoConvolutions() {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %w) {pads=[1,0,1,0]}
output %b
)");
  if (!graph.ok()) FAIL(graph.error().message);
  const GraphOrder order(*graph);
  ChainBuilder builder(*graph, order, 0, SplitDimension::kHeight);
  REQUIRE(builder.Add());
  REQUIRE(builder.Add());
  REQUIRE(!builder.Add());
  return builder.chain();
}

constexpr int64_t kRow = 4;  // bytes

TEST_CASE("Patch ranges: a patch makes new rows and takes over those that it needs again") {
  const Chain chain = TwoConvolutions();
  PatchRanges ranges(chain, {4, PatchPolicy::kKeepRows});
  // By hand: two rows of b a time need one row of a more than them, and one before.
  constexpr PatchRows kA[] = {{0, 0, 3, 1}, {1, 3, 5, 3}, {3, 5, 7, 5}, {5, 7, 8, 8}};
  std::vector<PatchRows> rows;
  for (int32_t part = 0; part < 4; ++part) {
    CAPTURE(part);
    ranges.Rows(part, rows);
    CHECK(rows[0].begin == kA[part].begin);
    CHECK(rows[0].computed == kA[part].computed);
    CHECK(rows[0].end == kA[part].end);
    CHECK(rows[0].next == kA[part].next);
    CHECK(rows[1].computed == 2 * part);
    CHECK(rows[1].end == 2 * part + 2);
    CHECK(rows[1].FromLast().size() == 0);
  }
}

TEST_CASE("Patch ranges: patches may be asked for in any order") {
  const Chain chain = TwoConvolutions();
  PatchRanges forwards(chain, {4, PatchPolicy::kKeepRows});
  PatchRanges backwards(chain, {4, PatchPolicy::kKeepRows});
  std::vector<std::vector<PatchRows>> first(4);
  std::vector<PatchRows> again;
  for (size_t part = 0; part < 4; ++part) forwards.Rows(static_cast<int32_t>(part), first[part]);
  for (size_t part = 4; part-- > 0;) {
    backwards.Rows(static_cast<int32_t>(part), again);
    CHECK(again[0].begin == first[part][0].begin);
    CHECK(again[0].end == first[part][0].end);
  }
}

TEST_CASE("Patch ranges: computing again leaves nothing over") {
  const Chain chain = TwoConvolutions();
  PatchRanges ranges(chain, {4, PatchPolicy::kRecompute});
  constexpr IndexRange kA[] = {{0, 3}, {1, 5}, {3, 7}, {5, 8}};
  std::vector<PatchRows> rows;
  for (int32_t part = 0; part < 4; ++part) {
    ranges.Rows(part, rows);
    CHECK(rows[0].New().begin == kA[part].begin);
    CHECK(rows[0].New().end == kA[part].end);
    CHECK(rows[0].FromLast().size() == 0);
    CHECK(rows[0].Kept().size() == 0);
  }
}

TEST_CASE("Patch estimate: kept rows cost two moves, and live beside the buffer while they move") {
  const PatchEstimate estimate = EstimatePatches(TwoConvolutions(), {4, PatchPolicy::kKeepRows});
  CHECK(estimate.peak == (8 + 4 + 2) * kRow);  // exit, buffer, rows kept
  CHECK(estimate.copied_bytes == 3 * 2 * 2 * kRow);
  CHECK(estimate.recomputed_work == 0);
  CHECK(estimate.ops == 4 * 2 + 3 * 2);
}

TEST_CASE("Patch estimate: a kept buffer costs one move and lives beside the next one") {
  const PatchEstimate estimate = EstimatePatches(TwoConvolutions(), {4, PatchPolicy::kKeepBuffer});
  CHECK(estimate.peak == (8 + 4 + 4) * kRow);
  CHECK(estimate.copied_bytes == 3 * 2 * kRow);
}

TEST_CASE("Patch estimate: computing again costs work and no bytes") {
  const Chain chain = TwoConvolutions();
  const PatchEstimate estimate = EstimatePatches(chain, {4, PatchPolicy::kRecompute});
  CHECK(estimate.peak == (8 + 4) * kRow);
  CHECK(estimate.copied_bytes == 0);
  CHECK(estimate.recomputed_work == chain.ops[0].work * (3 + 4 + 4 + 3 - 8) / 8);
}

TEST_CASE("Chains: follow rows through a pixel shuffle, and end before an op that needs them all") {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,4,6,5]
%a = unary(%x) {function=relu}
%b = reshape(%a) {dims=[1,1,2,2,6,5]}
%c = transpose(%b) {permutation=[0,1,4,2,5,3]}
%d = reshape(%c) {dims=[1,1,12,10]}
%e = softmax(%d) {axis=2}
output %e
)");
  if (!graph.ok()) FAIL(graph.error().message);
  const GraphOrder order(*graph);
  ChainBuilder builder(*graph, order, 0, SplitDimension::kHeight);
  while (builder.Add()) {
  }
  const Chain& chain = builder.chain();
  REQUIRE(chain.ops.size() == 4);
  CHECK(chain.tensors[1].axis == 4);
  CHECK(chain.tensors[2].axis == 2);
  CHECK(chain.tensors[3].axis == 2);
  CHECK(chain.ops[3].granularity == 2);  // two rows of the large image from each of the small
  CHECK(chain.IsExit(3));
  CHECK(!chain.IsExit(0));
  CHECK(chain.Prefix(2).IsExit(1));
}

}  // namespace
}  // namespace tenon::converter
