// Plans of several workers and memory spaces, from the emitter through the plan check to a run.
#include <set>

#include "runtime/format/plan_view.hpp"
#include "tests/unit/sdk/src/dealt_program.hpp"

namespace tenon::test {
namespace {

TEST_CASE("Several workers: a random graph's values do not depend on who runs its steps") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed);
    const auto inputs = RandomInputs(graph, seed);
    const Evaluation expected = EvaluateGraph(graph, inputs);
    REQUIRE_MESSAGE(expected.error.empty(), expected.error);
    const DealtProgram program = MakeProgram(RandomGraph(seed), 1 + seed % 4, 1 + seed % 3);
    const std::vector<uint8_t> plan = program.Plan();
    REQUIRE(CheckPlanFile(plan) == "");
    const RunResult result = RunPlan(plan, inputs, {/*portable=*/true, 1, /*bound=*/false});
    REQUIRE_MESSAGE(result.error.empty(), result.error);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      CHECK(result.outputs[i] == expected.values.at(graph.outputs()[i].tensor));
    }
  }
}

TEST_CASE("Several workers: without one of its waits a plan fails its check") {
  const DealtProgram program = SmallProgram(3, 2);
  REQUIRE(CheckPlanFile(program.Plan()) == "");
  size_t waits = 0;
  for (size_t worker = 0; worker < program.schedule.workers.size(); ++worker) {
    for (size_t step = 0; step < program.schedule.workers[worker].size(); ++step) {
      if (program.schedule.workers[worker][step].waits.size() != 1) continue;
      DealtProgram broken = program;
      broken.schedule.workers[worker][step].waits.clear();
      CHECK(CheckPlanFile(broken.Plan()) != "");
      ++waits;
    }
  }
  CHECK(waits >= 1);
}

TEST_CASE("Several workers: steps that wait for each other are refused") {
  DealtProgram program = SmallProgram(2, 1);
  REQUIRE(program.schedule.workers[1].size() >= 2);
  program.schedule.workers[0][0].waits = {{1, 1}};
  CHECK(CheckPlanFile(program.Plan()).find("waits forever") != std::string::npos);
}

TEST_CASE("Several workers: bytes reused before the other worker has read them are refused") {
  DealtProgram program = SmallProgram(2, 1);
  for (converter::PlannedStorage& storage : program.arena.storages) {
    if (storage.root != kNone && !program.graph.IsOutput(storage.root)) storage.offset = 0;
  }
  CHECK(CheckPlanFile(program.Plan()).find("is alive on the same bytes") != std::string::npos);
}

TEST_CASE("Several workers: arenas, constants and workers bear the names of the board's parts") {
  const std::vector<uint8_t> bytes = SmallProgram(3, 2).Plan();
  const LoadedForTest plan(bytes);
  REQUIRE(tenon_plan_arena_count(plan.get()) == 2);
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &arena) == TENON_OK);
  CHECK(std::string(arena.space) == "sram");
  REQUIRE(tenon_plan_arena(plan.get(), 1, &arena) == TENON_OK);
  CHECK(std::string(arena.space) == "ddr");
  const PlanBytes file(bytes);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(file.data()), file.size()});
  REQUIRE(view.ok());
  CHECK(std::string(view->space_name(view->section(0).space)) == "flash");
  tenon_op_info op;
  REQUIRE(tenon_plan_op(plan.get(), 1, &op) == TENON_OK);
  CHECK(std::string(op.worker) == "matrix");
  REQUIRE(tenon_plan_op(plan.get(), 2, &op) == TENON_OK);
  CHECK(std::string(op.worker) == "vector");
}

TEST_CASE("Several workers: a trace names every op once, in an order that keeps the waits") {
  const LoadedForTest plan(SmallProgram(3, 1).Plan());
  const SessionForTest session(plan);
  std::vector<size_t> order;
  tenon_trace trace{};
  trace.context = &order;
  trace.record = [](void* context, size_t op, uint64_t) {
    static_cast<std::vector<size_t>*>(context)->push_back(op);
  };
  trace.clock_nanoseconds = [](void*) { return uint64_t{0}; };
  REQUIRE(tenon_session_run_traced(session.get(), &trace, nullptr) == TENON_OK);
  CHECK(std::set<size_t>(order.begin(), order.end()).size() == tenon_plan_op_count(plan.get()));
  CHECK(order.size() == tenon_plan_op_count(plan.get()));
}

TEST_CASE("EmitPlan: a schedule that misses a step, or has one twice, is an error of ours") {
  DealtProgram program = SmallProgram(2, 1);
  const auto emits = [&] {
    return EmitPlan(program.graph, program.locations, program.arena, program.schedule,
                    program.options)
        .ok();
  };
  REQUIRE(emits());
  const converter::ScheduledStep last = program.schedule.workers[1].back();
  program.schedule.workers[1].pop_back();
  CHECK_FALSE(emits());
  program.schedule.workers[1].push_back(last);
  program.schedule.workers[0].push_back(last);
  CHECK_FALSE(emits());
  program.schedule.workers.assign(9, {});
  CHECK_FALSE(emits());
}

}  // namespace
}  // namespace tenon::test
