#include "converter/layout/following.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "converter/layout/storage_uses.hpp"
#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

/// Elements of which each part is made, those of it, and the name of a constant of as many.
struct Sizes {
  int from = 64;
  int to = 64;
  const char* constant = "k";
};

/// Four parts of `from` make as many of `to`; each reads `more` elements besides.
std::string Parts(const std::string& from, const std::string& to, int more = 0,
                  const Sizes& sizes = {}) {
  std::string text;
  std::string all;
  for (int i = 0; i < 4; ++i) {
    const std::string part = to + std::to_string(i);
    const int size = i < 3 ? sizes.from + more : sizes.from;
    text += "%" + part + "s = slice(%" + from + ") {begins=[" + std::to_string(sizes.from * i) +
            "], sizes=[" + std::to_string(size) + "], steps=[1]}\n";
    text += "%" + part + "m = reduce(%" + part + "s) {function=max, axes_mask=1}\n";
    text += "%" + part + " = binary(%" + sizes.constant + ", %" + part + "m)\n";
    all += (i > 0 ? ", %" : "%") + part;
  }
  return text + "%" + to + " = concat(" + all + ")\n";
}

std::string Whole(const std::string& parts, const std::string& last) {
  return "graph g\ninput %x: f32[256]\nconst %k: f32[64] = splat(2)\n" + parts + "%y = reduce(%" +
         last + ") {function=sum, axes_mask=1}\noutput %y\n";
}

ArenaPlan Plan(const Located& located, bool follow) {
  ArenaOptions options;
  options.follow = follow;
  return PlanArena(located.graph, located.locations, options);
}

const PlannedStorage& Of(const Located& located, const ArenaPlan& plan, std::string_view name) {
  const TensorId root = located.At(name).root;
  for (const PlannedStorage& storage : plan.storages) {
    if (storage.root == root) return storage;
  }
  FAIL("no storage for " << std::string(name));
  return plan.storages[0];
}

TEST_CASE("PlanArena: a storage follows behind what has been read of another one") {
  const Located located = Locate(Whole(Parts("x", "a"), "a"));
  CHECK(Plan(located, false).bytes > 2048);
  const ArenaPlan plan = Plan(located, true);
  CHECK(plan.bytes < 2048);
  // Each part is read before its place is written: the first reads what the others do not.
  CHECK(Of(located, plan, "x").offset == Of(located, plan, "a").offset);
  CHECK_FALSE(plan.proven_optimal);
}

TEST_CASE("PlanArena: what is read again later keeps what is written away") {
  const Located located = Locate(Whole(Parts("x", "a", 16), "a"));
  const ArenaPlan same = Plan(located, true);
  CHECK(Of(located, same, "x").offset == Of(located, same, "a").offset);
  // The last part reads the first elements once more.
  std::string again = Parts("x", "a");
  const size_t at = again.rfind("begins=[192]");
  again.replace(at, 12, "begins=[0]");
  const Located whole = Locate(Whole(again, "a"));
  const ArenaPlan apart = Plan(whole, true);
  CHECK(Of(whole, apart, "x").offset >= Of(whole, apart, "a").offset + 768);
}

TEST_CASE("PlanArena: a storage follows one that has followed another") {
  const Located located = Locate(Whole(Parts("x", "a") + Parts("a", "b"), "b"));
  const ArenaPlan plan = Plan(located, true);
  CHECK(Plan(located, false).bytes > 2048);
  CHECK(plan.bytes < 2048);
}

TEST_CASE("PlanArena: what takes over the bytes of a pair is in no other pair's way") {
  const Located located = Locate(
      "graph g\ninput %x: f32[256]\ninput %w: f32[256]\n"
      "const %k: f32[64] = splat(2)\nconst %l: f32[256] = splat(3)\n" +
      Parts("x", "a") +
      "%b = binary(%a, %w)\n"
      "%m = reduce(%b) {function=max, axes_mask=1}\n"
      "%s = binary(%l, %m)\n" +
      Parts("s", "c") + "%d = binary(%c, %b)\noutput %d\n");
  const ArenaPlan plan = Plan(located, true);
  const PlannedStorage& taken = Of(located, plan, "b");
  REQUIRE(taken.offset == Of(located, plan, "a").offset);
  for (const char* const name : {"s", "c"}) {
    CHECK(std::abs(Of(located, plan, name).offset - taken.offset) >= 1024);
  }
}

TEST_CASE("PlanArena: what an op reads and writes in one step does not lie on each other") {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    const std::string part = std::to_string(i);
    text += "%s" + part + " = slice(%x) {begins=[" + std::to_string(64 * i) +
            "], sizes=[64], steps=[1]}\n%a" + part + " = binary(%k, %s" + part + ")\n";
  }
  const Located located = Locate(Whole(text + "%a = concat(%a0, %a1, %a2, %a3)\n", "a"));
  const ArenaPlan plan = Plan(located, true);
  CHECK(plan.bytes < 2048);
  CHECK(Of(located, plan, "x").offset == Of(located, plan, "a").offset + 256);
}

TEST_CASE("PlanArena: of three that follow each other each pair keeps its distance") {
  // Of each 256 bytes of x 160 of a are made, and of those 256 of b.
  const Located located = Locate(
      "graph g\ninput %x: f32[256]\nconst %k: f32[40] = splat(2)\nconst %l: f32[64] = splat(2)\n" +
      Parts("x", "a", 0, {64, 40, "k"}) + Parts("a", "b", 0, {40, 64, "l"}) +
      "%y = reduce(%b) {function=sum, axes_mask=1}\noutput %y\n");
  const ArenaPlan plan = Plan(located, true);
  CHECK(plan.bytes < Plan(located, false).bytes);
  // b has written 768 bytes when the last part of a, from 480 on, has yet to be read.
  CHECK(Of(located, plan, "a").offset - Of(located, plan, "b").offset >= 768 - 480);
  // a has written 160 bytes when what lies from 256 on of x has yet to be read.
  const int64_t in_front = Of(located, plan, "a").offset - Of(located, plan, "x").offset;
  CHECK(in_front <= 256 - 160);
  CHECK(in_front > 0);
}

TEST_CASE("PlanArena: what is alive for a while lies where rows have yet to be written") {
  // Of each 64 bytes of x 256 of a are made; while the second are, 320 bytes of t are alive.
  std::string text = Parts("x", "a", 0, {16, 64, "k"});
  const std::string second = "%a1 = binary(%k, %a1m)\n";
  text.replace(text.find(second), second.size(),
               "%t = binary(%l, %a1m)\n%u = reduce(%t) {function=max, axes_mask=1}\n"
               "%a1 = binary(%k, %u)\n");
  const Located located = Locate(
      "graph g\ninput %x: f32[64]\nconst %k: f32[64] = splat(2)\nconst %l: f32[80] = splat(2)\n" +
      text + "%y = reduce(%a) {function=sum, axes_mask=1}\noutput %y\n");
  CHECK(Plan(located, true).bytes <= 1024 + 64);
}

TEST_CASE("PlanArena: nothing follows where ops start together, or a run leaves a state") {
  const Located located = Locate(Whole(Parts("x", "a"), "a"));
  ArenaOptions options;
  options.groups.emplace_back();
  for (const OpId id : Plan(located, false).steps) options.groups[0].push_back(id);
  options.groups[0].pop_back();  // what is made lives longer than what it is made of
  const int64_t apart = PlanArena(located.graph, located.locations, options).bytes;
  options.follow = true;
  CHECK(PlanArena(located.graph, located.locations, options).bytes == apart);

  const Located state = Locate("graph g\ninput %x: f32[256]\nconst %k: f32[64] = splat(2)\n" +
                               Parts("x", "a") + "output %a\nstate \"x\" = \"a\"\n");
  CHECK(Plan(state, true).bytes == Plan(state, false).bytes);
}

TEST_CASE("PlanArena: what is known of placements gives the same plan, and is asked for first") {
  const Located located = Locate(Whole(Parts("x", "a") + Parts("a", "b"), "b"));
  const ArenaPlan expected = Plan(located, true);
  ArenaOptions options;
  options.follow = true;
  options.memo = std::make_shared<PlacementMemo>();
  size_t known = 0;
  for (int i = 0; i < 2; ++i) {
    const ArenaPlan plan = PlanArena(located.graph, located.locations, options);
    CHECK(plan.bytes == expected.bytes);
    CHECK(plan.proven_optimal == expected.proven_optimal);
    REQUIRE(plan.storages.size() == expected.storages.size());
    for (size_t s = 0; s < plan.storages.size(); ++s) {
      CHECK(plan.storages[s].offset == expected.storages[s].offset);
    }
    CHECK(options.memo->size() > 0);
    if (i > 0) CHECK(options.memo->size() == known);
    known = options.memo->size();
  }
}

TEST_CASE("TakenBytes: bytes on which several storages lie count once") {
  const Located located = Locate(Whole(Parts("x", "a"), "a"));
  const auto most = [](const ArenaPlan& plan, const auto& counts) {
    const std::vector<int64_t> taken = TakenBytes(plan, /*alignment=*/1, counts);
    return *std::max_element(taken.begin(), taken.end());
  };
  const auto all = [](const PlannedStorage&) { return true; };
  for (const bool follow : {false, true}) {
    const ArenaPlan plan = Plan(located, follow);
    CHECK(most(plan, all) == plan.bytes);
    const TensorId x = located.Id("x");
    const auto others = [x](const PlannedStorage& storage) { return storage.root != x; };
    CHECK(most(plan, others) == 1024 + 4);
  }
}

TEST_CASE("PlanArena: nothing follows an output, and an input follows nothing") {
  std::string text = Whole(Parts("x", "a"), "a");
  const Located located = Locate(text + "output %x\n");
  CHECK(Plan(located, true).bytes == Plan(located, false).bytes);
}

TEST_CASE("FindLargestOp: where storages may lie on each other, windows count") {
  const Located located = Locate("graph g\ninput %x: f32[256]\nconst %k: f32[64] = splat(2)\n" +
                                 Parts("x", "a") + "output %a\n");
  ArenaOptions options;
  const ArenaPlan plan = Plan(located, true);
  const auto largest = [&] {
    return FindLargestOp(located.graph, located.locations, plan.steps, options).bytes;
  };
  CHECK(largest() == 1024 + 4);
  options.follow = true;
  CHECK(largest() == 256 + 4);
}

}  // namespace
}  // namespace tenon::converter
