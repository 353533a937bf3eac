#include "converter/layout/arena_plan.hpp"

#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

struct Planned {
  Located located;
  ArenaPlan arena;

  [[nodiscard]] const PlannedStorage& Of(std::string_view name) const {
    const TensorId root = located.At(name).root;
    for (const PlannedStorage& storage : arena.storages) {
      if (storage.root == root) return storage;
    }
    FAIL("no storage for " << std::string(name));
    return arena.storages[0];
  }
  /// The input that the op which makes `name` works in place on, or -1.
  [[nodiscard]] int InPlace(std::string_view name) const {
    const OpId producer = located.graph.tensor(located.Id(name)).producer;
    return arena.in_place[static_cast<size_t>(producer)];
  }
};

Planned Plan(std::string_view text, bool in_place = true) {
  Planned planned{Locate(text), {}};
  ArenaOptions options;
  options.in_place = in_place;
  planned.arena = PlanArena(planned.located.graph, planned.located.locations, options);
  return planned;
}

// --- lifetimes ----------------------------------------------------------------------------------

TEST_CASE("PlanArena: a storage lives from its first write to its last read") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%c = unary(%a) {function=sin}
%y = binary(%b, %c)
output %y
)",
                            /*in_place=*/false);
  CHECK(plan.Of("x").first_step == 0);
  CHECK(plan.Of("x").last_step == 0);
  CHECK(plan.Of("a").first_step == 0);
  CHECK(plan.Of("a").last_step == 2);
  CHECK(plan.Of("c").first_step == 2);
  CHECK(plan.Of("y").last_step == 3);
  CHECK(plan.arena.bytes == 3 * 256);  // steps 2 and 3 need three arrays each
  CHECK(plan.arena.lower_bound == plan.arena.bytes);
}

TEST_CASE("PlanArena: an input lives from the start, an output to the end") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
input %late: f32[64]
%y = reduce(%x) {function=sum, axes_mask=1}
%a = reduce(%x) {function=max, axes_mask=1}
%z = binary(%a, %late)
output %y
output %z
)");
  CHECK(plan.Of("late").first_step == 0);
  CHECK(plan.Of("late").last_step == 2);
  CHECK(plan.Of("y").last_step == 2);
}

TEST_CASE("PlanArena: a concatenation lives from its first part on") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%c = concat(%a, %b)
%y = reduce(%c) {function=sum, axes_mask=1}
output %y
)");
  CHECK(plan.Of("a").root == plan.located.Id("c"));
  CHECK(plan.Of("c").first_step == 0);
  CHECK(plan.Of("c").last_step == 2);
  CHECK(plan.Of("c").bytes == 512);
}

TEST_CASE("PlanArena: a window keeps what it looks at alive") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[0], sizes=[8], steps=[1]}
%b = reduce(%a) {function=sum, axes_mask=1}
%c = unary(%b) {function=exp}
%y = binary(%c, %s)
output %y
)");
  CHECK(plan.Of("a").last_step == 3);
}

TEST_CASE("PlanArena: a workspace lives for its op's step alone") {
  Located located =
      Locate("graph g\ninput %x: f32[64]\n%a = unary(%x)\n%y = unary(%a)\noutput %y\n");
  const OpId op = located.graph.tensor(located.Id("y")).producer;
  located.graph.MutableOp(op).workspace_bytes = 1000;
  const ArenaPlan arena = PlanArena(located.graph, located.locations, ArenaOptions());
  const PlannedStorage& workspace = arena.storages.back();
  CHECK(workspace.workspace_of == op);
  CHECK(workspace.bytes == 1000);
  CHECK(workspace.first_step == 1);
  CHECK(workspace.last_step == 1);
  CHECK(arena.bytes >= 1000 + 256);
}

TEST_CASE("PlanArena: constants take no room, and a graph without ops still has its inputs") {
  const Planned plan = Plan(
      "graph g\ninput %x: f32[64]\nconst %c: f32[64] = splat(1)\n"
      "%y = binary(%x, %c)\noutput %y\n");
  CHECK(plan.arena.storages.size() == 2);
  const Planned empty = Plan("graph g\ninput %x: f32[64]\n");
  CHECK(empty.arena.bytes == 256);
}

TEST_CASE("FindLargestOp: whole storages and the workspace count, once, less what is taken over") {
  Located located = Locate(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%c = concat(%a, %b)
%y = reduce(%c) {function=sum, axes_mask=1}
output %y
)");
  const auto largest = [&] {
    const ArenaPlan arena = PlanArena(located.graph, located.locations, ArenaOptions());
    const LargestOp found = FindLargestOp(located.graph, located.locations, arena.steps);
    CHECK(arena.bytes >= found.bytes);
    return std::make_pair(located.graph.tensor(located.graph.op(found.op).outputs[0]).name,
                          found.bytes);
  };
  // %a and %b are windows on the 512 bytes of %c: beside those, %x counts while %a is made.
  CHECK(largest() == std::make_pair(std::string("a"), int64_t{768}));
  const OpId op = located.graph.tensor(located.Id("b")).producer;
  located.graph.MutableOp(op).workspace_bytes = 1000;
  CHECK(largest() == std::make_pair(std::string("b"), int64_t{512 + 1000}));
  const Located in_place =
      Locate("graph g\ninput %x: f32[64]\n%a = unary(%x)\n%y = unary(%a)\noutput %y\n");
  CHECK(FindLargestOp(in_place.graph, in_place.locations, in_place.graph.OpOrder()).bytes == 256);
}

// --- in-place hand-overs ------------------------------------------------------------------------

TEST_CASE("PlanArena: a chain of elementwise ops stays on one array") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%y = unary(%b) {function=sin}
output %y
)");
  CHECK(plan.arena.bytes == 256);
  CHECK(plan.InPlace("a") == 0);
  CHECK(plan.InPlace("y") == 0);
  CHECK(plan.Of("x").offset == plan.Of("y").offset);
}

TEST_CASE(
    "PlanArena: a view of another rank is taken over, whatever stride its dimension of 1 has") {
  const Planned plan = Plan(R"(graph g
input %x: f32[1,3,4]
%a = unary(%x) {function=exp}
%r = reshape(%a) {dims=[1,12]}
%y = unary(%r) {function=relu}
%z = reduce(%y) {function=sum, axes_mask=2}
output %z
)");
  CHECK(plan.InPlace("y") == 0);
}

TEST_CASE("PlanArena: a convolution takes over its residual") {
  const Planned plan = Plan(R"(graph g
input %x: f32[1,2,4,4]
input %r: f32[1,2,4,4]
const %w: f32[2,2,3,3] = random(1)
%y: f32[1,2,4,4] = conv(%x, %w, _, %r) {pads=[1,1,1,1]}
output %y
)");
  CHECK(plan.InPlace("y") == 3);
  CHECK(plan.arena.bytes == 2 * 128);
}

TEST_CASE("PlanArena: a convolution does not take over a residual that it reads as input too") {
  const Planned plan = Plan(R"(graph g
input %x: f32[1,2,4,4]
const %w: f32[2,2,3,3] = random(1)
%y: f32[1,2,4,4] = conv(%x, %w, _, %x) {pads=[1,1,1,1]}
output %y
)");
  CHECK(plan.InPlace("y") == -1);
}

TEST_CASE("PlanArena: the second operand is taken over where the first lives on") {
  const Planned plan = Plan(R"(graph g
input %x: f32[64]
input %z: f32[64]
%a = binary(%x, %z)
%y = binary(%a, %x)
output %y
)");
  CHECK(plan.InPlace("a") == 1);
  CHECK(plan.InPlace("y") == 0);
}

TEST_CASE("PlanArena: both operands may be the same tensor") {
  const Planned plan = Plan("graph g\ninput %x: f32[64]\n%y = binary(%x, %x)\noutput %y\n");
  CHECK(plan.InPlace("y") == 0);
}

/// The op that makes %y must not work in place on anything.
void CheckNotInPlace(std::string_view text) {
  const Planned plan = Plan(text);
  CHECK(plan.InPlace("y") == -1);
}

TEST_CASE("PlanArena: nothing that is read later is taken over") {
  CheckNotInPlace(R"(graph g
input %x: f32[64]
%y = unary(%x) {function=relu}
%z = binary(%y, %x)
output %z
output %y
)");
}

TEST_CASE("PlanArena: a graph output is not taken over") {
  CheckNotInPlace(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%y = unary(%a) {function=exp}
output %a
output %y
)");
}

TEST_CASE("PlanArena: what a window of an output shows is not taken over") {
  CheckNotInPlace(R"(graph g
input %x: f32[64]
%a = unary(%x) {function=relu}
%o = reshape(%a) {dims=[8,8]}
%y = unary(%a) {function=exp}
output %o
output %y
)");
}

TEST_CASE("PlanArena: a row that broadcasts over the rest of its tensor keeps it from being lost") {
  CheckNotInPlace(R"(graph g
input %x: f32[8,8]
%a = unary(%x) {function=relu}
%row = slice(%a) {begins=[0,0], sizes=[1,8], steps=[1,1]}
%y = binary(%a, %row)
output %y
)");
}

TEST_CASE("PlanArena: two windows of one root do not take each other over") {
  CheckNotInPlace(R"(graph g
input %x: f32[8,8]
%a = unary(%x) {function=relu}
%t = transpose(%a) {permutation=[1,0]}
%y = binary(%a, %t)
output %y
)");
  CheckNotInPlace(R"(graph g
input %x: f32[8,8]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[0,0], sizes=[4,8], steps=[1,1]}
%t = slice(%a) {begins=[4,0], sizes=[4,8], steps=[1,1]}
%y = binary(%s, %t)
output %y
)");
}

TEST_CASE(
    "PlanArena: a part of a storage, another dtype or a broadcast operand is not taken over") {
  CheckNotInPlace(R"(graph g
input %x: f32[8,8]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[0,0], sizes=[4,8], steps=[1,1]}
%y = unary(%s) {function=exp}
output %y
)");
  CheckNotInPlace(R"(graph g
input %x: i32[64]
%y = binary(%x, %x) {function=less}
output %y
)");
  CheckNotInPlace(R"(graph g
input %x: f32[1,8]
const %c: f32[8,8] = splat(1)
%y = binary(%x, %c)
output %y
)");
}

TEST_CASE("PlanArena: a part of a concatenation takes nothing over") {
  CheckNotInPlace(R"(graph g
input %x: f32[64]
input %z: f32[64]
%y = unary(%x) {function=relu}
%b = unary(%z) {function=relu}
%c = concat(%y, %b)
output %c
)");
}

TEST_CASE("PlanArena: other strides are not taken over") {
  CheckNotInPlace(R"(graph g
input %x: f32[8,8]
%a = unary(%x) {function=relu}
%t = transpose(%a) {permutation=[1,0]}
%y = unary(%t) {function=exp}
output %y
)");
}

TEST_CASE("PlanArena: without in-place work every tensor has bytes of its own") {
  const Planned plan =
      Plan("graph g\ninput %x: f32[64]\n%y = unary(%x)\noutput %y\n", /*in_place=*/false);
  CHECK(plan.InPlace("y") == -1);
  CHECK(plan.arena.bytes == 512);
}

}  // namespace
}  // namespace tenon::converter
