// Ops that start together: neighbours that use nothing of each other's, alive at the same time.
#include "runtime/base/crc32c.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

/// in -> left and right, which start together; both -> out.
PlanSpec TwoTogether() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t left = spec.AddBuffer(64, 16);
  const uint32_t right = spec.AddBuffer(128, 16);
  const uint32_t out = spec.AddBuffer(192, 16);
  spec.AddInput(in);
  spec.AddOp({in}, {left});
  spec.AddOp({in}, {right});
  spec.AddOp({left, right}, {out});
  spec.AddOutput(out);
  spec.groups = {{{0, 1}}};
  return spec;
}

}  // namespace

TEST_CASE("CheckPlan: two ops may start together that only read the same") {
  CHECK(Check(TwoTogether()) == "");
}

TEST_CASE("CheckPlan: an op that reads what another of its group writes is refused") {
  PlanSpec spec = TwoTogether();
  spec.groups = {{{0, 1, 2}}};
  CHECK(Says(spec, "op2: reads tensor 1 before all of it is written"));
}

TEST_CASE("CheckPlan: what ops of a group use is alive during the whole group") {
  PlanSpec spec = TwoTogether();
  spec.storages[2].offset = 0;  // right over in: fine one after the other, not together
  CHECK(Says(spec, "storage 2 is written while storage 0 is alive on the same bytes"));
  spec.ops[1].in_place = 0;
  CHECK(Says(spec, "storage 2 is written while storage 0 is alive on the same bytes"));
  spec.groups.clear();
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a later op may use the bytes of what a group has read") {
  PlanSpec spec = TwoTogether();
  spec.storages[3].offset = 0;
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a group's ops are neighbours in one segment, of which only the first waits") {
  PlanSpec spec = TwoTogether();
  spec.groups = {{{1, 0}}};
  CHECK(Says(spec, "group 0: its ops are not consecutive steps"));
  spec = TwoTogether();
  spec.groups = {{{0, 2}}};
  CHECK(Says(spec, "group 0: its ops are not consecutive steps"));
  spec = TwoTogether();
  spec.segments = {{{0}}, {{1, 2}}};
  CHECK(Says(spec, "group 0: its ops are not consecutive steps"));
  spec = TwoTogether();
  spec.workers[0][1].waits = {{0, 0}};
  CHECK(Says(spec, "group 0: its ops are not consecutive steps"));
}

TEST_CASE("CheckPlan: groups of one op, of none that is there, and two of one op are refused") {
  PlanSpec spec = TwoTogether();
  spec.groups = {{{0}}};
  CHECK(Says(spec, "group 0 has 1 ops: 2 to 32 can start together"));
  spec.groups = {{{0, 7}}};
  CHECK(Says(spec, "group 0: no op 7"));
  spec.groups = {{{0, 1}}, {{1, 2}}};
  CHECK(Says(spec, "group 1: no op 1, or it is in two groups"));
}

TEST_CASE("CheckPlan: a wait for an op of a group is a wait for all of it") {
  PlanSpec spec = TwoTogether();
  const uint32_t more = spec.AddBuffer(256, 16);
  spec.AddOp({2}, {more}, 1, {{0, 0}});  // waits for left, and reads right
  CHECK(Check(spec) == "");
  spec.groups.clear();
  CHECK(Says(spec, "op3: reads tensor 2 before all of it is written"));
}

TEST_CASE("CheckPlan: a group's source has the check sum that the plan says, and is for its ops") {
  PlanSpec spec = TwoTogether();
  GroupSpec& group = spec.groups[0];
  group.source = "kernel";
  group.arguments = {5, 6};
  group.crc = Crc32c(group.source.data(), group.source.size());
  CHECK(Check(spec) == "");
  group.arguments = {5};
  CHECK(Says(spec, "group 0: its source makes 1 launches, fewer than it has ops"));
  group.arguments = {5, 6};
  ++group.crc;
  CHECK(Says(spec, "group 0: its source is damaged"));
}
