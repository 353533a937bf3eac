// Programs of several workers and arenas, for tests of what runs them.
#pragma once

#include <map>
#include <set>

#include "converter/emit/emit_plan.hpp"
#include "converter/layout/assign_locations.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {

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
struct DealtProgram {
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

inline void PlaceApart(ArenaPlan& arena, size_t arenas) {
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

inline std::set<TensorId> RootsOf(const DealtProgram& program, const Op& op) {
  std::set<TensorId> roots;
  for (const TensorId id : op.inputs) {
    if (id != kNone) roots.insert(program.locations.at(id).root);
  }
  for (const TensorId id : op.outputs) roots.insert(program.locations.at(id).root);
  return roots;
}

/// Every step waits for the last step of each other worker that touches what it touches.
inline void DealOut(DealtProgram& program, size_t workers) {
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

inline DealtProgram MakeProgram(Graph graph, size_t workers, size_t arenas) {
  DealtProgram program;
  program.graph = std::move(graph);
  std::vector<converter::PassReport> passes;
  REQUIRE(converter::Canonicalise(program.graph, /*fuse=*/false, passes).ok());
  for (const OpId id : program.graph.OpOrder()) UsePortableKernel(program.graph.MutableOp(id));
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

inline DealtProgram SmallProgram(size_t workers, size_t arenas) {
  auto graph = converter::ParseGraph(kSmallModel);
  REQUIRE(graph.ok());
  return MakeProgram(std::move(*graph), workers, arenas);
}

inline std::string CheckPlanFile(const std::vector<uint8_t>& bytes) {
  const PlanBytes file(bytes);
  tenon_error error{};
  size_t scratch_bytes = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, &error) == TENON_OK);
  Memory scratch = MakeMemory(scratch_bytes);
  const tenon_status status = tenon_plan_check(file.data(), file.size(), scratch.data(),
                                               scratch_bytes, nullptr, nullptr, &error);
  return status == TENON_OK ? "" : error.message;
}

}  // namespace tenon::test
