// Which ops a plan passes over where a select takes its other operand.
#include "converter/schedule/conditional_ops.hpp"

#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

/// The executed ops by their first output, each with its condition: "a", "b if c", "d unless c".
Strings Conditions(const Located& located, const OutsideInputs& outside = {}) {
  std::vector<OpId> steps;
  for (const OpId id : located.graph.OpOrder()) {
    if (!located.locations.elided[static_cast<size_t>(id)]) steps.push_back(id);
  }
  const auto found = FindConditions(located.graph, located.locations, steps, outside);
  Strings lines;
  for (const OpId id : steps) {
    std::string line = located.graph.tensor(located.graph.op(id).outputs[0]).name;
    if (const auto condition = found.find(id); condition != found.end()) {
      line += condition->second.runs_if ? " if " : " unless ";
      line += located.graph.tensor(condition->second.tensor).name;
    }
    lines.push_back(line);
  }
  return lines;
}

TEST_CASE("FindConditions: both branches of a select by one bool, and what only they need") {
  CHECK(Conditions(Locate(R"(graph g
input %c: bool[1]
input %x: f32[8]
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%d = unary(%x) {function=sin}
%y = select(%c, %b, %d)
output %y
)")) == Strings{"a if c", "b if c", "d unless c", "y"});
}

TEST_CASE("FindConditions: what is read otherwise too always runs") {
  CHECK(Conditions(Locate(R"(graph g
input %c: bool[1]
input %x: f32[8]
%both = unary(%x) {function=relu}
%shown = unary(%both) {function=exp}
%b = unary(%both) {function=sin}
%y = select(%c, %b, %shown)
output %y
output %shown
)")) == Strings{"both", "shown", "b if c", "y"});
}

TEST_CASE("FindConditions: several selects by one bool are one choice") {
  CHECK(Conditions(Locate(R"(graph g
input %c: bool[1]
input %x: f32[8]
%both = unary(%x) {function=relu}
%a = unary(%both) {function=exp}
%b = unary(%both) {function=sin}
%y = select(%c, %a, %x)
%z = select(%c, %b, %x)
output %y
output %z
)")) == Strings{"both if c", "a if c", "b if c", "y", "z"});
}

TEST_CASE("FindConditions: a bool that is not known yet, or several bools, decide nothing") {
  CHECK(Conditions(Locate(R"(graph g
input %x: f32[8]
input %m: f32[1]
input %mask: bool[8]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%c = binary(%m, %m) {function=less}
%d = unary(%x) {function=sin}
%y = select(%c, %a, %d)
%z = select(%mask, %b, %y)
output %z
)")) == Strings{"a", "b", "c", "d unless c", "y", "z"});
}

TEST_CASE("FindConditions: of selects in a branch the outer one decides") {
  CHECK(Conditions(Locate(R"(graph g
input %outer: bool[1]
input %m: f32[1]
input %x: f32[8]
%inner = binary(%m, %m) {function=less}
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%s = select(%inner, %a, %b)
%y = select(%outer, %s, %x)
output %y
)")) == Strings{"inner if outer", "a if outer", "b if outer", "s if outer", "y"});
}

TEST_CASE("FindConditions: views and parts are where they lie") {
  CHECK(Conditions(Locate(R"(graph g
input %c: bool[1]
input %x: f32[1,8]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%j = concat(%a, %b) {axis=1}
%r = reshape(%j) {dims=[16]}
input %w: f32[16]
%y = select(%c, %r, %w)
output %y
)")) == Strings{"a if c", "b if c", "y"});
}

TEST_CASE("FindConditions: a part that is read before the other one is there makes both needed") {
  const Located located = Locate(R"(graph g
input %c: bool[1]
input %x: f32[1,8]
%a = unary(%x) {function=relu}
%shown = unary(%a) {function=sin}
%b = unary(%x) {function=exp}
%j = concat(%a, %b) {axis=1}
input %w: f32[1,16]
%y = select(%c, %j, %w)
output %y
output %shown
)");
  REQUIRE(located.Root("a") == located.Root("b"));
  CHECK(Conditions(located) == Strings{"a", "shown", "b", "y"});
}

TEST_CASE("FindConditions: unless that reader is of the same condition, as in an LSTM") {
  const Located located = Locate(R"(graph g
input %c: bool[1]
input %x: f32[1,8]
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%j = concat(%a, %b) {axis=1}
input %w: f32[1,16]
%y = select(%c, %j, %w)
output %y
)");
  REQUIRE(located.Root("a") == located.Root("b"));
  CHECK(Conditions(located) == Strings{"a if c", "b if c", "y"});
}

TEST_CASE("FindConditions: nothing is chosen where both operands are one") {
  CHECK(Conditions(Locate(R"(graph g
input %c: bool[1]
input %x: f32[8]
%a = unary(%x) {function=relu}
%y = select(%c, %a, %a)
output %y
)")) == Strings{"a", "y"});
}

TEST_CASE("FindConditions: ops of other backends always run, and their bools decide nothing") {
  Located located = Locate(R"(graph g
input %m: f32[1]
input %x: f32[8]
%c = binary(%m, %m) {function=less}
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%y = select(%c, %a, %b)
output %y
)");
  const auto give = [&](const char* output, const char* backend) {
    located.graph.MutableOp(located.graph.tensor(located.Id(output)).producer).backend = backend;
  };
  give("a", "opencl");
  CHECK(Conditions(located) == Strings{"c", "a", "b unless c", "y"});
  give("c", "opencl");
  CHECK(Conditions(located) == Strings{"c", "a", "b", "y"});
}

TEST_CASE("FindConditions: copies of rows of an input always run") {
  const Located located = Locate(R"(graph g
input %c: bool[1]
input %x: f32[8]
input %w: f32[8]
%a = copy(%x)
%b = unary(%a) {function=exp}
%y = select(%c, %b, %w)
output %y
)");
  CHECK(Conditions(located) == Strings{"a if c", "b if c", "y"});
  CHECK(Conditions(located, {{located.Id("x"), 4}}) == Strings{"a", "b if c", "y"});
}

TEST_CASE("PutConditionsFirst: no order has an op before what says whether it runs") {
  const Located located = Locate(R"(graph g
input %m: f32[1]
input %x: f32[8]
%c = binary(%m, %m) {function=less}
%a = unary(%x) {function=relu}
%b = unary(%a) {function=exp}
%y = select(%c, %b, %x)
output %y
)");
  OrderProblem problem = MakeOrderProblem(located.graph, located.locations);
  const auto predecessors = [&](size_t node) { return problem.problem.nodes[node].predecessors; };
  using Nodes = std::vector<Index>;
  CHECK(predecessors(1) == Nodes{});
  PutConditionsFirst(located.graph, located.locations, {}, problem);
  CHECK(predecessors(0) == Nodes{});
  CHECK(predecessors(1) == Nodes{0});
  CHECK(predecessors(2) == Nodes{0, 1});
  CHECK(predecessors(3) == Nodes{0, 2});
}

}  // namespace
}  // namespace tenon::converter
