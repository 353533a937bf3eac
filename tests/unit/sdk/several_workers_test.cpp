// Plans of several workers and memory spaces, from the emitter through the plan check to a run.
#include <cstring>
#include <map>
#include <set>

#include "converter/emit/emit_plan.hpp"
#include "converter/memory/locations.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/sdk/sdk_testing.hpp"

namespace tenon::test {
namespace {

using converter::ArenaPlan;
using converter::Graph;
using converter::kNone;
using converter::Locations;
using converter::Op;
using converter::OpId;
using converter::Schedule;
using converter::TensorId;

/// What the emitter is given: a graph on portable kernels, steps dealt out to workers in turn, and
/// storages to arenas, each at bytes of its own.
struct Program {
  Graph graph;
  Locations locations;
  ArenaPlan arena;
  Schedule schedule;
  converter::EmitOptions options;

  [[nodiscard]] std::vector<uint8_t> Plan() const {
    auto plan = converter::EmitPlan(graph, locations, arena, schedule, options);
    if (!plan.ok()) FAIL(plan.error().message);
    return std::move(*plan);
  }
};

void PlaceApart(ArenaPlan& arena, size_t arenas) {
  arena.arenas.resize(arenas);
  for (size_t i = 0; i < arenas; ++i) arena.arenas[i].space = i == 0 ? "sram" : "ddr";
  for (size_t i = 0; i < arena.storages.size(); ++i) {
    converter::PlannedStorage& storage = arena.storages[i];
    storage.arena = static_cast<int32_t>(i % arenas);
    converter::PlannedArena& home = arena.arenas[i % arenas];
    storage.offset = home.bytes;
    home.bytes += (storage.bytes + 63) / 64 * 64;
  }
}

std::set<TensorId> RootsOf(const Program& program, const Op& op) {
  std::set<TensorId> roots;
  for (const TensorId id : op.inputs) {
    if (id != kNone) roots.insert(program.locations.at(id).root);
  }
  for (const TensorId id : op.outputs) roots.insert(program.locations.at(id).root);
  return roots;
}

/// Every step waits for the last step of each other worker that touches what it touches.
void DealOut(Program& program, size_t workers) {
  Schedule& schedule = program.schedule;
  schedule.workers.resize(workers);
  std::map<TensorId, std::map<int32_t, int32_t>> last_use;  // by root and worker
  for (size_t i = 0; i < program.arena.steps.size(); ++i) {
    const auto worker = static_cast<int32_t>(i % workers);
    auto& steps = schedule.workers[static_cast<size_t>(worker)];
    converter::ScheduledStep step;
    step.op = program.arena.steps[i];
    std::map<int32_t, int32_t> waits;
    for (const TensorId root : RootsOf(program, program.graph.op(step.op))) {
      for (const auto& [other, at] : last_use[root]) {
        if (other != worker) waits[other] = std::max(waits[other], at);
      }
      last_use[root][worker] = static_cast<int32_t>(steps.size());
    }
    for (const auto& [other, at] : waits) step.waits.push_back({other, at});
    steps.push_back(step);
  }
}

Program MakeProgram(Graph graph, size_t workers, size_t arenas) {
  Program program;
  program.graph = std::move(graph);
  std::vector<converter::PassReport> passes;
  REQUIRE(converter::Canonicalise(program.graph, /*fuse=*/false, passes).ok());
  for (const OpId id : program.graph.OpOrder()) UsePortableKernel(program.graph.op(id));
  converter::PassReport report;
  auto locations = AssignLocations(program.graph, report);
  REQUIRE(locations.ok());
  program.locations = std::move(*locations);
  converter::ArenaOptions options;
  options.in_place = false;  // every storage gets bytes of its own
  program.arena = PlanArena(program.graph, program.locations, options);
  PlaceApart(program.arena, arenas);
  DealOut(program, workers);
  program.options.board = "test";
  program.options.memory_space = "sram";
  program.options.constants_space = "flash";
  program.options.worker_names = {"dma", "matrix", "vector"};
  return program;
}

Program SmallProgram(size_t workers, size_t arenas) {
  auto graph = converter::ParseGraph(kSmallModel);
  REQUIRE(graph.ok());
  return MakeProgram(std::move(*graph), workers, arenas);
}

std::string CheckPlanFile(const std::vector<uint8_t>& bytes) {
  const PlanBytes file(bytes);
  tenon_error error{};
  size_t scratch_bytes = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, &error) == TENON_OK);
  Memory scratch = MakeMemory(scratch_bytes);
  const tenon_status status = tenon_plan_check(file.data(), file.size(), scratch.data(),
                                               scratch_bytes, nullptr, nullptr, &error);
  return status == TENON_OK ? "" : error.message;
}

TEST_CASE("Several workers: a random graph's values do not depend on who runs its steps") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed);
    const auto inputs = RandomInputs(graph, seed);
    const Evaluation expected = EvaluateGraph(graph, inputs);
    REQUIRE_MESSAGE(expected.error.empty(), expected.error);
    const Program program = MakeProgram(RandomGraph(seed), 1 + seed % 4, 1 + seed % 3);
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
  const Program program = SmallProgram(3, 2);
  REQUIRE(CheckPlanFile(program.Plan()) == "");
  size_t waits = 0;
  for (size_t worker = 0; worker < program.schedule.workers.size(); ++worker) {
    for (size_t step = 0; step < program.schedule.workers[worker].size(); ++step) {
      if (program.schedule.workers[worker][step].waits.size() != 1) continue;
      Program broken = program;
      broken.schedule.workers[worker][step].waits.clear();
      CHECK(CheckPlanFile(broken.Plan()) != "");
      ++waits;
    }
  }
  CHECK(waits >= 1);
}

TEST_CASE("Several workers: steps that wait for each other are refused") {
  Program program = SmallProgram(2, 1);
  REQUIRE(program.schedule.workers[1].size() >= 2);
  program.schedule.workers[0][0].waits = {{1, 1}};
  CHECK(CheckPlanFile(program.Plan()).find("waits forever") != std::string::npos);
}

TEST_CASE("Several workers: bytes reused before the other worker has read them are refused") {
  Program program = SmallProgram(2, 1);
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
  Program program = SmallProgram(2, 1);
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
