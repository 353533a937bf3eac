#include <doctest/doctest.h>

#include <cstring>

#include "converter/emit/emit_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kProgramText = R"(graph g
input %x as "data": f32[3]
const %c: f32[3] = [1, 2, 3]
%a = binary(%x, %c) "first"
%y = unary(%a) {function=relu}
output %y as "prob"
)";

struct PlacedProgram {
  Graph graph;
  Locations locations;
  ArenaPlan arena;
};

PlacedProgram PlaceProgram(std::string_view text) {
  auto graph = ParseGraph(text);
  REQUIRE(graph.ok());
  for (const OpId id : graph->OpOrder()) UsePortableKernel(graph->MutableOp(id));
  PassReport report;
  auto locations = AssignLocations(*graph, report);
  REQUIRE(locations.ok());
  ArenaPlan arena = PlanArena(*graph, *locations, ArenaOptions());
  return {std::move(*graph), std::move(*locations), std::move(arena)};
}

ProgramToEmit Program(const PlacedProgram& placed, const char* name) {
  ProgramToEmit program;
  program.name = name;
  program.graph = &placed.graph;
  program.locations = &placed.locations;
  program.arena = &placed.arena;
  return program;
}

/// The bytes, aligned, and the view on them.
struct OpenedPrograms {
  std::vector<std::max_align_t> blocks;
  PlanView plan;
};

OpenedPrograms OpenPrograms(const std::vector<uint8_t>& bytes) {
  OpenedPrograms opened;
  opened.blocks.resize(bytes.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(opened.blocks.data(), bytes.data(), bytes.size());
  const auto view =
      PlanView::Open({reinterpret_cast<const uint8_t*>(opened.blocks.data()), bytes.size()});
  REQUIRE(view.ok());
  opened.plan = *view;
  return opened;
}

TEST_CASE("EmitPlan: several programs keep their names and modes and share equal constants") {
  const PlacedProgram first = PlaceProgram(kProgramText);
  const PlacedProgram second = PlaceProgram(kProgramText);
  ProgramToEmit pipeline = Program(second, "pipeline");
  pipeline.mode = ProgramMode::kPipeline;
  const auto one = EmitPlan({Program(first, "sequential")}, EmitOptions());
  const auto two = EmitPlan({Program(first, "sequential"), pipeline}, EmitOptions());
  REQUIRE(one.ok());
  REQUIRE(two.ok());
  const OpenedPrograms opened = OpenPrograms(*two);
  REQUIRE(opened.plan.program_count() == 2);
  CHECK(std::string(opened.plan.program(0).name()) == "sequential");
  CHECK(opened.plan.program(0).mode() == 0);
  CHECK(std::string(opened.plan.program(1).name()) == "pipeline");
  CHECK(opened.plan.program(1).mode() == 1);
  CHECK(opened.plan.kernel_count() == 2);
  CHECK(opened.plan.section(0).bytes == OpenPrograms(*one).plan.section(0).bytes);
}

TEST_CASE("EmitPlan: a channel between stages that hand nothing over is refused") {
  const PlacedProgram placed = PlaceProgram(kProgramText);
  Schedule schedule;
  for (const OpId id : placed.arena.steps) schedule.workers.push_back({{id, {}}});
  ProgramToEmit program = Program(placed, "pipeline");
  program.schedule = &schedule;
  program.channels.push_back({1, 0, 0, {placed.graph.FindTensor("a")}});
  const auto plan = EmitPlan({program}, EmitOptions());
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().message.find("carries nothing") != std::string::npos);
  program.channels[0] = {0, 1, 0, {placed.graph.FindTensor("a")}};
  CHECK(EmitPlan({program}, EmitOptions()).ok());
}

}  // namespace
}  // namespace tenon::converter
