// Plans of patches whose exits may follow behind what they are made of.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "converter/split/patch_plan.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("Memory plan: tiles make an exit that follows where both whole are too much") {
  const Graph graph = Parsed(R"(graph g
input %x: f32[1,1,32,32]
const %w: f32[16,1,3,3] = random(1)
const %v: f32[1,16,3,3] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %v) {pads=[1,1,1,1]}
output %b
)");
  MemorySplitOptions options;
  options.tiles = options.follow = true;
  PatchPlanner planner(graph, options);
  constexpr int64_t kBoth = 2 * 32 * 32 * 4;
  CHECK(planner.SmallestTarget() > kBoth);
  const int64_t smallest = planner.SmallestTarget(CutInto::kTiles);
  CHECK(smallest < kBoth);
  CHECK(PatchPlanner(graph, options).Plan(smallest, CutInto::kTiles).fits);
}

TEST_CASE("Memory plan: nothing follows what is read later, nor inside what is more than an exit") {
  const auto smallest = [](const char* text, bool follow) {
    MemorySplitOptions options;
    options.follow = follow;
    return SmallestTarget(Parsed(text), options);
  };
  constexpr const char* kNetwork = R"(graph g
input %x: f32[1,1,32,16]
const %w: f32[4,1,3,1] = random(1)
const %v: f32[1,4,3,1] = random(2)
%a = conv(%x, %w) {pads=[1,0,1,0]}
%b = conv(%a, %v) {pads=[1,0,1,0]}
)";
  const auto both = [&](const char* more) {
    const std::string text = std::string(kNetwork) + more;
    return std::make_pair(smallest(text.c_str(), true), smallest(text.c_str(), false));
  };
  const auto plain = both("output %b\n");
  CHECK(plain.first < plain.second);
  const auto later = both("%m = reduce(%x) {function=max, axes_mask=15}\noutput %b\noutput %m\n");
  CHECK(later.first == later.second);
  const auto inside = both("input %u: f32[1,1,32,16]\n%z = concat(%b, %u) {axis=0}\noutput %z\n");
  CHECK(inside.first == inside.second);
  // One of two images.
  std::string of_two = std::string(kNetwork) + "output %b\n";
  of_two.replace(of_two.find("%x: f32[1,1,32,16]\n"), 19,
                 "%t: f32[2,1,32,16]\n%x = slice(%t) {begins=[1,0,0,0], sizes=[1,1,32,16], "
                 "steps=[1,1,1,1]}\n");
  CHECK(smallest(of_two.c_str(), true) == smallest(of_two.c_str(), false));
}

}  // namespace
}  // namespace tenon::converter
