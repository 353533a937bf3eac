// One plan's storages over two memories: each within its limit, the quiet ones in the slower.
#include "converter/layout/two_arenas.hpp"

#include <algorithm>

#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

constexpr int64_t kBudget = 100'000;

struct Spread {
  Located located;
  ArenaPlan one;
  std::optional<ArenaPlan> two;

  /// The space that the tensor lies in.
  [[nodiscard]] std::string SpaceOf(std::string_view name) const {
    const TensorId root = located.At(name).root;
    for (const PlannedStorage& storage : two->storages) {
      if (storage.root == root) return two->arenas[static_cast<size_t>(storage.arena)].space;
    }
    FAIL("no storage for " << std::string(name));
    return {};
  }
};

Spread SpreadText(std::string_view text, const TwoSpaces& spaces) {
  Spread spread{Locate(text), {}, {}};
  spread.one = PlanArena(spread.located.graph, spread.located.locations, ArenaOptions{});
  spread.two = SpreadOverTwoArenas(spread.located.graph, spread.located.locations, spread.one,
                                   spaces, kBudget);
  return spread;
}

/// Within limits, aligned, and no two storages that live at the same time share bytes but those
/// that the one-arena plan lets share (hand-overs).
void CheckPlaces(const Spread& spread, const TwoSpaces& spaces) {
  REQUIRE(spread.two.has_value());
  const ArenaPlan& plan = *spread.two;
  for (const PlannedArena& arena : plan.arenas) {
    CHECK(arena.bytes <= (arena.space == spaces.first.name ? spaces.first : spaces.second).limit);
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const PlannedStorage& a = plan.storages[i];
    CHECK(a.offset % kStorageAlignment == 0);
    CHECK(a.offset + a.bytes <= plan.arenas[static_cast<size_t>(a.arena)].bytes);
    for (size_t j = 0; j < i; ++j) {
      const PlannedStorage& b = plan.storages[j];
      const bool alive = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool apart =
          a.arena != b.arena || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      const PlannedStorage& one_a = spread.one.storages[i];
      const PlannedStorage& one_b = spread.one.storages[j];
      const bool handed_over = one_a.offset == one_b.offset &&
                               (a.first_step == b.last_step || b.first_step == a.last_step) &&
                               a.arena == b.arena && a.offset == b.offset;
      CHECK((!alive || apart || handed_over));
    }
  }
}

/// %quiet lives throughout and is read once; %hot is read three times meanwhile.
constexpr const char* kQuietAndHot = R"(graph g
input %x: f32[256]
%quiet = unary(%x) {function=exp}
%hot = unary(%x) {function=sin}
%a = reduce(%hot) {axes_mask=1, function=sum, keep_dims=1}
%b = reduce(%hot) {axes_mask=1, function=max, keep_dims=1}
%c = binary(%a, %b)
%d = binary(%hot, %c)
%y = binary(%d, %quiet)
output %y
)";

TEST_CASE("Two arenas: what is read and written least goes to the slower space") {
  const TwoSpaces spaces = {{"sram", 2000, 3e9}, {"psram", 1 << 20, 1e8}};
  const Spread spread = SpreadText(kQuietAndHot, spaces);
  CHECK(spread.one.bytes > 2000);
  CheckPlaces(spread, spaces);
  CHECK(spread.two->arenas.size() == 2);
  CHECK(spread.SpaceOf("quiet") == "psram");
  CHECK(spread.SpaceOf("hot") == "sram");
}

TEST_CASE("Two arenas: where the second space is the faster one it has the hot tensors") {
  const TwoSpaces spaces = {{"sram", 1 << 20, 1e8}, {"dtcm", 2000, 3e9}};
  const Spread spread = SpreadText(kQuietAndHot, spaces);
  CheckPlaces(spread, spaces);
  CHECK(spread.SpaceOf("quiet") == "sram");
  CHECK(spread.SpaceOf("hot") == "dtcm");
}

TEST_CASE("Two arenas: one that nothing lies in is left out") {
  const TwoSpaces spaces = {{"sram", 64, 1e8}, {"dtcm", 1 << 20, 3e9}};
  const Spread spread = SpreadText(kQuietAndHot, spaces);
  CheckPlaces(spread, spaces);
  REQUIRE(spread.two->arenas.size() == 1);
  CHECK(spread.two->arenas[0].space == "dtcm");
  CHECK(spread.two->bytes == 0);
}

TEST_CASE("Two arenas: what both together have no room for is refused") {
  const TwoSpaces spaces = {{"sram", 1024, 3e9}, {"psram", 1024, 1e8}};
  CHECK_FALSE(SpreadText(kQuietAndHot, spaces).two.has_value());
}

TEST_CASE("Two arenas: a hand-over stays in one of them") {
  const TwoSpaces spaces = {{"sram", 1088, 3e9}, {"psram", 1 << 20, 1e8}};
  const Spread spread = SpreadText(R"(graph g
input %x: f32[256]
%a = unary(%x) {function=exp}
%b = unary(%a) {function=relu}
%c = unary(%b) {function=sin}
%y = binary(%c, %x)
output %y
)",
                                   spaces);
  CheckPlaces(spread, spaces);
  CHECK(spread.SpaceOf("a") == spread.SpaceOf("b"));
  CHECK(spread.SpaceOf("b") == spread.SpaceOf("c"));
  CHECK(spread.SpaceOf("a") != spread.SpaceOf("x"));
}

TEST_CASE("Two arenas: bytes of an op's operands are counted by the space they lie in") {
  const TwoSpaces spaces = {{"sram", 2000, 3e9}, {"psram", 1 << 20, 1e8}};
  const Spread spread = SpreadText(kQuietAndHot, spaces);
  CheckPlaces(spread, spaces);
  const Graph& graph = spread.located.graph;
  const Op& op = graph.op(graph.tensor(spread.located.Id("quiet")).producer);
  const int64_t quiet = OperandBytesIn(graph, spread.located.locations, *spread.two, "psram", op);
  const int64_t other = OperandBytesIn(graph, spread.located.locations, *spread.two, "sram", op);
  CHECK(quiet >= 1024);
  CHECK(quiet + other == 2048);
}

}  // namespace
}  // namespace tenon::converter
