// What firmware has not: several workers, waits, segments; and plans that are large.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

TEST_CASE("CheckPlan: good plans with workers, devices and pipelines pass") {
  CHECK(Check(ForkAndJoin()) == "");
  CHECK(Check(WithDevice()) == "");
  CHECK(Check(WithFallback()) == "");
  CHECK(Check(Pipeline()) == "");
}

TEST_CASE("CheckPlan: a read of another worker's result without a wait is refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[0][1].waits.clear();
  CHECK(Says(spec, "op2: reads tensor 2 before all of it is written"));
}

TEST_CASE("CheckPlan: waits order what comes before them too") {
  PlanSpec spec = ForkAndJoin();
  const uint32_t last = spec.AddBuffer(256, 16);
  spec.AddOp({1}, {last}, 2, {{0, 1}});  // left was done before the step that is awaited
  CHECK(Check(spec) == "");
  const uint32_t more = spec.AddBuffer(320, 16);
  spec.AddOp({2}, {more}, 2);  // right too, since worker 0 had waited for it
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a worker may not write over what another one still reads") {
  PlanSpec spec = ForkAndJoin();
  spec.storages[1].offset = 0;  // left over in, which worker 1 reads without order
  CHECK(Says(spec, "storage 1 is written while storage 0 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an op in place must wait for the other readers of its input") {
  PlanSpec spec = InPlace();
  const uint32_t other = spec.AddBuffer(256, 16);
  const uint32_t op = spec.AddOp({1}, {other}, 1, {{0, 0}});
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
  spec.workers[0][1].waits = {{1, 0}};
  CHECK(op == 3);
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: waits in a circle are refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[1][0].waits = {{0, 1}};
  CHECK(Says(spec, "step 1 of worker 0 waits forever"));
  spec = Chain();
  spec.workers[0][0].waits = {{0, 0}};
  CHECK(Says(spec, "step 0 of worker 0 waits forever"));
}

TEST_CASE("CheckPlan: waits for steps that do not exist are refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[0][1].waits = {{1, 1}};
  CHECK(Says(spec, "waits for a step that is not there"));
  spec.workers[0][1].waits = {{2, 0}};
  CHECK(Says(spec, "waits for a step that is not there"));
}

TEST_CASE("CheckPlan: one to eight workers") {
  PlanSpec spec = Chain();
  spec.workers.resize(8);
  CHECK(Check(spec) == "");
  spec.workers.resize(9);
  CHECK(Says(spec, "program with 9 workers"));
  spec.workers.clear();
  CHECK(Says(spec, "program with 0 workers"));
}

TEST_CASE("CheckPlan: a kernel belongs to its segment's backend") {
  PlanSpec spec = Chain();
  spec.backends = {"cpu", "cp", "opencl"};
  spec.segments[0].backend = 1;
  CHECK(Says(spec, "op 0 has a kernel of another backend"));
  spec.segments[0].backend = 3;
  CHECK(Says(spec, "segment 0: backend or stage out of range"));
}

TEST_CASE("CheckPlan: every op is in one segment") {
  PlanSpec spec = Chain();
  spec.segments[0].ops = {0};
  CHECK(Says(spec, "op 1 is in no segment"));
  spec.segments[0].ops = {0, 1, 1};
  CHECK(Says(spec, "or it is in two segments"));
  spec.segments[0].ops = {0, 1, 2};
  CHECK(Says(spec, "no op 2"));
  spec.segments[0].ops = {0, 1};
  spec.segments[0].stage = 1;
  CHECK(Says(spec, "segment 0: backend or stage"));
}

TEST_CASE("CheckPlan: segments that wait for each other are refused") {
  PlanSpec spec = Chain();
  spec.AddOp({2}, {spec.AddBuffer(192, 16)});
  spec.segments = {{{0, 2}}, {{1}}};
  CHECK(Says(spec, "wait for each other"));
}

TEST_CASE("CheckPlan: what reads an empty tensor waits for no segment") {
  PlanSpec spec = Chain();
  spec.AddOp({2}, {spec.AddBuffer(192, 16)});
  spec.segments = {{{0, 2}}, {{1}}};
  spec.tensors[2].dims = {0};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: segments that share a storage but no bytes do not depend on each other") {
  PlanSpec spec = Columns();
  // Segment 1 reads what segment 0 writes, and writes the other columns of the same storage.
  spec.ops[1].inputs = {1};
  spec.segments = {{{0}}, {{1, 2}}};
  CHECK(Check(spec) == "");
}

/// Writers of all columns of a table of two rows; every other one writes its first row only.
PlanSpec Columns(int32_t count, bool ragged) {
  PlanSpec spec;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t storage = spec.AddStorage(0, static_cast<uint64_t>(count) * 2 * 4);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t rows = ragged && i % 2 == 1 ? 1 : 2;
    spec.AddOp({}, {spec.AddTensor(storage, {rows, 1}, static_cast<uint64_t>(i) * 4, {count, 1})});
  }
  return spec;
}

TEST_CASE("CheckPlan: thousands of parts side by side are no more work than a few") {
  CHECK(Check(Columns(5000, /*ragged=*/false)).empty());
  PlanSpec spec = Columns(1000, /*ragged=*/false);
  // The last one a column further left, onto another.
  spec.tensors.back().offset -= 4;
  CHECK(Says(spec, "writes bytes of tensor"));
}

TEST_CASE("CheckPlan: more work than the budget is refused instead of done") {
  CHECK(Says(Columns(12000, /*ragged=*/true), "too many strided parts"));
}

TEST_CASE("CheckPlan: stages run on workers") {
  PlanSpec spec = Chain();
  spec.stages = {1};
  CHECK(Says(spec, "stage 0 runs on no worker"));
}
