#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "converter/ir/text.hpp"
#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"

namespace tenon::converter {
namespace {

/// The chain by height of all ops of a graph.
Chain WholeChain(const std::string& text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  const GraphOrder order(*graph);
  ChainBuilder builder(*graph, order, 0, SplitDimension::kHeight);
  for (size_t k = 0; k < order.ops.size(); ++k) REQUIRE(builder.Add());
  return builder.chain();
}

/// Two convolutions of 3 rows, padded, on 8 rows of one float each.
Chain TwoConvolutions() {
  return WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %w) {pads=[1,0,1,0]}
output %b
)");
}

void CheckRows(const PatchRows& found, const PatchRows& expected) {
  CHECK(found.begin == expected.begin);
  CHECK(found.computed == expected.computed);
  CHECK(found.end == expected.end);
  CHECK(found.next == expected.next);
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
    CheckRows(rows[0], kA[part]);
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

/// A pointwise convolution of eight rows, one with steps behind it, and `rest`.
Chain ChainWithSteps(const std::string& rest) {
  return WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %v: f32[1,1,1,1] = [1]
const %w: f32[1,1,2,1] = [1, 2]
%a = conv(%x, %v)
%b = conv(%a, %w) {strides=[2,1]}
)" + rest);
}

TEST_CASE("Patch ranges: more patches than an exit has rows make the rows before a stride singly") {
  const Chain chain = ChainWithSteps("output %b\n");
  PatchRanges ranges(chain, {8, PatchPolicy::kKeepRows});
  std::vector<PatchRows> rows;
  for (int32_t part = 0; part < 8; part += 2) {
    CAPTURE(part);
    ranges.Rows(part, rows);
    CheckRows(rows[0], {part, part, part + 1, part});  // waits for the next
    CHECK(rows[1].New().size() == 0);
    ranges.Rows(part + 1, rows);
    CheckRows(rows[0], {part, part + 1, part + 2, part + 2});
    CHECK(rows[1].computed == part / 2);
    CHECK(rows[1].end == part / 2 + 1);
  }
}

TEST_CASE("Patch ranges: a share of two rows in two steps makes rows in pairs") {
  const Chain chain = ChainWithSteps("%c = conv(%b, %v)\noutput %c\n");
  Patching patching{4, PatchPolicy::kKeepRows};
  patching.steps = 2;
  PatchRanges ranges(chain, patching);
  std::vector<PatchRows> rows;
  for (int32_t share = 0; share < 2; ++share) {
    CAPTURE(share);
    const int32_t first = 4 * share;
    ranges.Rows(2 * share, rows);
    CheckRows(rows[0], {first, first, first + 2, first});  // waits for the next
    CHECK(rows[1].New().size() == 0);
    CHECK(rows[2].New().size() == 0);
    ranges.Rows(2 * share + 1, rows);
    CheckRows(rows[0], {first, first + 2, first + 4, first + 4});
    for (const size_t t : {1, 2}) {
      CheckRows(rows[t], {first / 2, first / 2, first / 2 + 2, first / 2 + 2});
    }
  }
}

TEST_CASE("Patch ranges: the last of patches that fill no whole share ends with all rows") {
  const Chain chain = TwoConvolutions();
  PatchRanges ranges(chain, {11, PatchPolicy::kKeepRows});  // 6 shares in up to 2 steps
  std::vector<PatchRows> rows;
  ranges.Rows(10, rows);
  for (const PatchRows& tensor : rows) {
    CHECK(tensor.end == 8);
    CHECK(tensor.next == 8);
  }
}

TEST_CASE("Patch ranges: narrow rows are kept, and wide ones are made of them again") {
  const Chain chain = WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
const %wide: f32[4,1,1,1] = [1, 2, 3, 4]
const %narrow: f32[1,4,3,1] = random(1)
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %wide)
%c = conv(%b, %narrow) {pads=[1,0,1,0]}
output %c
)");
  CHECK(ComputedAgain(chain, PatchPolicy::kKeepNarrow) == std::vector<uint8_t>{0, 1, 0});
  PatchRanges ranges(chain, {8, PatchPolicy::kKeepNarrow});
  std::vector<PatchRows> rows;
  for (int32_t part = 0; part < 8; ++part) {
    CAPTURE(part);
    ranges.Rows(part, rows);
    const int32_t first = std::max(part - 1, 0);
    const int32_t end = std::min(part + 2, 8);
    CheckRows(rows[0], {first, part == 0 ? 0 : std::min(part + 1, 8), end, part == 7 ? 8 : part});
    CheckRows(rows[1], {first, first, end, end});
    CheckRows(rows[2], {part, part, part + 1, part + 1});
  }
  const PatchEstimate narrow = EstimatePatches(chain, {8, PatchPolicy::kKeepNarrow});
  const PatchEstimate wide = EstimatePatches(chain, {8, PatchPolicy::kKeepRows});
  CHECK(narrow.peak < wide.peak);
  CHECK(narrow.copied_bytes == wide.copied_bytes / 4);  // as many rows
  CHECK(narrow.recomputed_work == chain.ops[1].work * (2 + 6 * 3 + 2 - 8) / 8);
}

TEST_CASE("Patch ranges: rows that an op leaves as wide as they were are not computed again") {
  const Chain chain = WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
const %same: f32[1,1,1,1] = [1]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %same)
%c = conv(%b, %w) {pads=[1,0,1,0]}
output %c
)");
  CHECK(ComputedAgain(chain, PatchPolicy::kKeepNarrow) == std::vector<uint8_t>(3, 0));
}

TEST_CASE("Patch estimate: rows in steps wait for their reader, counted once") {
  const Chain chain = ChainWithSteps("%c = conv(%b, %w) {strides=[2,1]}\noutput %c\n");
  const PatchEstimate estimate = EstimatePatches(chain, {8, PatchPolicy::kKeepBuffer});
  // In the last patch: the exit, two rows of a, one of b that waits, and b's buffer of two.
  CHECK(estimate.peak == (2 + 2 + 1 + 2) * kRow);
  CHECK(estimate.ops == 8 + 4 + 2 + 4 + 2);  // whole and moved: every second row of a and b
  CHECK(estimate.copied_bytes == (4 + 2) * kRow);
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

TEST_CASE("Patch estimate: an exit that follows its source needs what is written too early") {
  Chain chain = TwoConvolutions();
  chain.source = {0, 8, kRow, {{0, chain.ops[0].inputs[0].need}}};
  // Two rows of b are made, of four of x of which the next patch reads all but two again.
  CHECK(EstimatePatches(chain, {4, PatchPolicy::kKeepRows}).peak == (4 + 2) * kRow);
  // It reads all of them again, and two rows of the exit lie in front of them.
  CHECK(EstimatePatches(chain, {4, PatchPolicy::kRecompute}).peak == (2 + 4) * kRow);
}

TEST_CASE("Patch estimate: rows of an exit that follows count from when they are made") {
  Chain chain = WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
const %v: f32[4,1,3,1] = random(1)
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %v) {pads=[1,0,1,0]}
output %b
)");
  chain.source = {0, 8, kRow, {{0, chain.ops[0].inputs[0].need}}};
  // Before the last patch six rows of b, of four each, less four of x; it makes three of a, and
  // then two more of b, after which nothing reads the rest of x. Whole, b were 24 and x 8, beside
  // four rows of a.
  CHECK(EstimatePatches(chain, {4, PatchPolicy::kRecompute}).peak ==
        (6 * 4 - 4 + 3 + 2 * 4 - 4) * kRow);
}

TEST_CASE("Patch estimate: an exit whose op reads the source leaves it what the patch reads") {
  Chain chain = WholeChain(R"(graph g
input %x: f32[1,1,8,1]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = binary(%a, %x)
output %b
)");
  chain.source = {0, 8, kRow, {{0, chain.ops[0].inputs[0].need}, {1, chain.ops[1].inputs[1].need}}};
  // Rows 2i and 2i + 1 of b are made while those of x from 2i - 1 on are still read.
  CHECK(EstimatePatches(chain, {4, PatchPolicy::kKeepRows}).peak == (2 + 3) * kRow);
}

TEST_CASE("Chains: the source is read last, in runs, and not where a second exit is made") {
  const auto source = [](const char* text, bool is_last, size_t first = 0) {
    auto graph = ParseGraph(text);
    if (!graph.ok()) FAIL(graph.error().message);
    const GraphOrder order(*graph);
    ChainBuilder builder(*graph, order, static_cast<int64_t>(first), SplitDimension::kHeight);
    for (size_t k = first; k < order.ops.size(); ++k) REQUIRE(builder.Add());
    Chain chain = builder.chain();
    ChainBuilder::FindSource(
        *graph, order, [=](TensorId) { return is_last; }, chain);
    return chain.source;
  };
  const char* const kTwo = R"(graph g
input %x: f32[1,1,8,2]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%x, %w) {pads=[1,0,1,0]}
%c = binary(%a, %b)
output %c
)";
  CHECK(source(kTwo, true).rows == 8);
  CHECK(source(kTwo, true).row_bytes == 8);
  CHECK(source(kTwo, true).readers.size() == 2);
  CHECK(source(kTwo, false).id == kNone);
  CHECK(source(R"(graph g
input %x: f32[1,1,8,2]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %w) {pads=[1,0,1,0]}
output %a
output %b
)",
               true)
            .id == kNone);
  // Of two it is the larger one.
  CHECK(source(R"(graph g
input %x: f32[1,1,8,2]
input %u: f32[1,1,16,2]
const %w: f32[1,1,3,1] = [1, 2, 3]
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%u, %w) {pads=[1,0,1,0], strides=[2,1]}
%c = binary(%a, %b)
output %c
)",
               true)
            .rows == 16);
  // Of several images, channels last, no more than those of one are.
  const auto second = [&](const std::string& batch) {
    return source(("graph g\ninput %x: f32[" + batch + R"(,2,8,2]
const %w: f32[2,2,3,1] = random(1)
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %w) {pads=[1,0,1,0]}
output %b
)")
                      .c_str(),
                  true, 1)
        .rows;
  };
  CHECK(second("1") == 8);
  CHECK(second("2") == 0);
  // What a transpose makes lies as what it reads does.
  const auto turned = [&](const std::string& shape, const std::string& order) {
    return source(("graph g\ninput %x: f32[" + shape + "]\n%t = transpose(%x) {permutation=[" +
                   order + R"(]}
const %w: f32[1,2,3,1] = random(1)
%a = conv(%t, %w) {pads=[1,0,1,0]}
output %a
)")
                      .c_str(),
                  true, 1)
        .rows;
  };
  CHECK(turned("1,8,2,2", "0,3,1,2") == 8);
  CHECK(turned("1,2,8,2", "0,1,2,3") == 0);
  // Rows of channels that lie one behind the other are no runs.
  CHECK(source(R"(graph g
input %x: f32[1,2,8,2]
const %w: f32[1,2,3,1] = random(1)
%a = conv(%x, %w) {pads=[1,0,1,0]}
output %a
)",
               true)
            .id == kNone);
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
