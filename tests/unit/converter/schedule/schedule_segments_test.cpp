// Programs whose devices are started once per segment: right values whoever runs ahead, few starts.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "converter/ir/text.hpp"
#include "converter/layout/lower.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/passes/passes.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/segment_graph.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/schedule/run_schedule.hpp"

namespace tenon::converter {
namespace {

/// A third unit: another device.
Board ThreeUnits() {
  Board board = test::TwinBoard();
  Unit other = board.units[1];
  other.name = "other";
  other.ops = {"binary", "concat", "copy", "reshape", "transpose", "slice"};
  board.units.insert(board.units.begin() + 1, other);
  return board;
}

struct Options {
  Board board = test::TwinBoard();
  ScheduleOptions schedule;
  std::string (*backend_of)(uint64_t number, std::mt19937_64& random) = nullptr;
};

Result<Scheduled> MakeScheduled(Graph graph, const Options& options, uint64_t seed) {
  PassContext context;
  REQUIRE(IsolateOutputs(graph, context).ok());
  std::mt19937_64 random(seed);
  LowerOptions lower;
  KernelChoiceOptions& kernels = lower.kernels;
  kernels.portable_only = true;
  kernels.board = &options.board;
  kernels.backends = test::CpuAndTwin();
  for (const OpId id : graph.OpOrder()) {
    kernels.assigned.resize(static_cast<size_t>(id) + 1);
    kernels.assigned[static_cast<size_t>(id)] = options.backend_of(seed, random);
  }
  std::vector<PassReport> passes;
  auto lowered = Lower(graph, lower, passes);
  REQUIRE(lowered.ok());
  Locations& locations = lowered->locations;
  const AnalyticCostModel model(options.board);
  auto program = MakeSchedule(graph, locations, options.board, model, options.schedule);
  if (!program.ok()) return program.error();
  const Status verified = Verify(graph);
  if (!verified.ok()) FAIL(verified.error().message);
  return Scheduled{std::move(graph), std::move(locations), std::move(*program)};
}

std::string Half(uint64_t, std::mt19937_64& random) { return random() % 2 == 0 ? "cpu" : "twin"; }
std::string MostlyTwin(uint64_t, std::mt19937_64& random) {
  return random() % 5 == 0 ? "cpu" : "twin";
}
std::string AllTwin(uint64_t, std::mt19937_64&) { return "twin"; }

Graph GraphOfSegments(uint64_t seed) {
  test::RandomGraphOptions random;
  random.most_ops = 6 + static_cast<int>(seed % 24);
  return test::RandomGraph(seed, random);
}

/// Empty if all outputs are what the graph's own ops give, whichever worker runs ahead.
std::string WrongValues(const Graph& original, const Scheduled& scheduled, uint64_t seed,
                        bool repeat) {
  const auto inputs = test::RandomInputs(original, seed);
  const test::Evaluation expected = test::EvaluateGraph(original, inputs);
  if (!expected.error.empty()) return expected.error;
  ScheduleRunner runner(scheduled.graph, scheduled.locations, scheduled.program);
  if (repeat) runner.RepeatSegments();
  for (uint64_t turn = 0; turn < 6; ++turn) {
    std::string error;
    const auto outputs = runner.Run(inputs, seed * 6 + turn, error);
    if (!error.empty()) return error;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != expected.values.at(original.outputs()[i].tensor)) {
        return fmt::format("output {} differs in turn {}", i, turn);
      }
    }
  }
  return "";
}

/// What is wrong with the segments of a program; empty if nothing.
std::string WrongSegments(const Scheduled& scheduled) {
  const Schedule& schedule = scheduled.program.schedule;
  std::map<OpId, std::pair<size_t, size_t>> place;  // worker, step
  for (size_t w = 0; w < schedule.workers.size(); ++w) {
    for (size_t i = 0; i < schedule.workers[w].size(); ++i) {
      place[schedule.workers[w][i].op] = {w, i};
    }
  }
  size_t ops = 0;
  for (const std::vector<OpId>& segment : schedule.segments) {
    const bool device = scheduled.graph.op(segment.front()).backend != "cpu";
    const auto [worker, first] = place.at(segment.front());
    for (size_t i = 0; i < segment.size(); ++i, ++ops) {
      if (place.at(segment[i]) != std::pair(worker, first + i)) return "ops are no neighbours";
      if (device && i > 0 && !schedule.workers[worker][first + i].waits.empty()) {
        return "a device waits in the middle of a segment";
      }
    }
  }
  return ops == place.size() && ops == scheduled.program.arena.steps.size() ? "" : "ops are lost";
}

TEST_CASE("random mappings of random graphs give the values of their ops, whoever runs ahead") {
  size_t split_again = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = GraphOfSegments(seed);
    Options options;
    if (seed % 4 == 3) options.board = ThreeUnits();
    options.backend_of = seed % 3 == 0 ? MostlyTwin : Half;
    options.schedule.search_order = seed % 5 != 4;
    options.schedule.aggregate = seed % 7 != 6;
    options.schedule.search.work_budget = 2'000;
    const auto scheduled = MakeScheduled(graph, options, seed);
    CAPTURE(seed);
    REQUIRE(scheduled.ok());
    CHECK(WrongValues(graph, *scheduled, seed, /*repeat=*/false) == "");
    const SegmentReport& report = scheduled->program.segments;
    if (report.segments == 0) continue;  // nothing on a device
    CHECK(WrongSegments(*scheduled) == "");
    CHECK(WrongValues(graph, *scheduled, seed, /*repeat=*/true) == "");
    if (!options.schedule.aggregate) CHECK(report.segments == report.ops);
    if (options.schedule.search_order && options.schedule.aggregate) {
      CHECK(report.fewest_is_exact);
      CHECK(report.fewest <= report.source_order);
      CHECK(report.time <= report.fewest_time);
      if (report.segments > report.fewest) ++split_again;
    }
    CHECK(scheduled->program.simulation.makespan >= scheduled->program.order.bound.bound);
  }
  CHECK(split_again > 5);
}

TEST_CASE("a whole graph on one device is one start, and needs no more memory than its ops") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = GraphOfSegments(seed);
    Options options;
    options.backend_of = AllTwin;
    const auto scheduled = MakeScheduled(graph, options, seed);
    CAPTURE(seed);
    REQUIRE(scheduled.ok());
    if (scheduled->program.segments.ops == 0) continue;
    CHECK(scheduled->program.segments.segments == 1);
    CHECK(scheduled->program.segments.waits == 0);
    CHECK(scheduled->program.schedule.workers.size() == 1);
  }
}

TEST_CASE("segments that do not fit side by side share bytes one after the other") {
  int smaller = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = GraphOfSegments(seed);
    Options options;
    options.backend_of = Half;
    const auto wide = MakeScheduled(graph, options, seed);
    REQUIRE(wide.ok());
    if (wide->program.segments.segments == 0) continue;
    options.board.memory_spaces[0].bytes = wide->program.arena.bytes - 1;
    const auto narrow = MakeScheduled(graph, options, seed);
    CAPTURE(seed);
    if (!narrow.ok()) {
      CHECK(narrow.error().kind == ErrorKind::kDoesNotFit);
      continue;
    }
    ++smaller;
    CHECK(narrow->program.arena.bytes < wide->program.arena.bytes);
    CHECK(WrongValues(graph, *narrow, seed, /*repeat=*/true) == "");
  }
  CHECK(smaller > 3);
}

TEST_CASE("segments report the model's order, random ones, list scheduling, and a bound") {
  int better = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Options options;
    options.backend_of = Half;
    const auto scheduled = MakeScheduled(GraphOfSegments(seed), options, seed);
    REQUIRE(scheduled.ok());
    if (scheduled->program.segments.segments == 0) continue;
    const TimeOrder& order = scheduled->program.order;
    CAPTURE(seed);
    REQUIRE(order.source.has_value());
    REQUIRE(order.random.has_value());
    REQUIRE(order.list.has_value());
    REQUIRE(order.chosen.has_value());
    const Picoseconds least = std::min({*order.source, *order.random, *order.list});
    CHECK(*order.chosen <= least);
    CHECK(*order.chosen == scheduled->program.simulation.makespan);
    CHECK(order.bound.bound <= *order.chosen);
    CHECK(order.exact == (order.bound.bound == *order.chosen));
    size_t ops = 0;
    for (const TimeSubgraph& subgraph : order.subgraphs) ops += subgraph.tasks;
    CHECK(ops == scheduled->program.segments.ops);
    if (*order.chosen < least) ++better;
  }
  CHECK(better > 10);
}

TEST_CASE("segments: the first order that is as short as wanted ends the search") {
  int ended = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Options options;
    options.backend_of = Half;
    const auto best = MakeScheduled(GraphOfSegments(seed), options, seed);
    REQUIRE(best.ok());
    if (best->program.segments.segments == 0) continue;
    options.schedule.search.target = *best->program.order.source;
    const auto first = MakeScheduled(GraphOfSegments(seed), options, seed);
    CAPTURE(seed);
    REQUIRE(first.ok());
    CHECK(*first->program.order.chosen <= options.schedule.search.target);
    CHECK(first->program.order.tried == 1);
    if (*first->program.order.chosen > *best->program.order.chosen) ++ended;
  }
  CHECK(ended > 5);
}

TEST_CASE("segments that do not fit as found are searched again within the limit") {
  int fitted = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = GraphOfSegments(seed);
    Options options;
    options.backend_of = Half;
    options.schedule.search_order = false;
    const auto source = MakeScheduled(graph, options, seed);
    options.schedule.search_order = true;
    const auto wide = MakeScheduled(graph, options, seed);
    REQUIRE(source.ok());
    REQUIRE(wide.ok());
    if (wide->program.segments.segments == 0) continue;
    // What the model's own order needs, one op after the other, is enough for a search.
    options.board.memory_spaces[0].bytes = PlanArena(source->graph, source->locations, {}).bytes;
    CAPTURE(seed);
    const auto narrow = MakeScheduled(graph, options, seed);
    if (!narrow.ok()) FAIL(narrow.error().message);
    ++fitted;
    CHECK(narrow->program.arena.bytes <= options.board.memory_spaces[0].bytes);
    CHECK(WrongValues(graph, *narrow, seed, /*repeat=*/false) == "");
    CHECK(WrongSegments(*narrow) == "");
  }
  CHECK(fitted > 30);
}

constexpr const char* kChain = R"(graph g
input %x as "x": f32[1,4,32,32]
%a = unary(%x) {function=relu} "a"
%b = unary(%a) {function=exp} "b"
%c = unary(%b) {function=tanh} "c"
output %c as "y"
)";

TEST_CASE("a device is paid for once per segment, and once per op without aggregation") {
  Options options;
  options.backend_of = AllTwin;
  const auto merged = MakeScheduled(Parsed(kChain), options, 1);
  options.schedule.aggregate = false;
  const auto single = MakeScheduled(Parsed(kChain), options, 1);
  REQUIRE(merged.ok());
  REQUIRE(single.ok());
  CHECK(merged->program.segments.device_starts == 1);
  CHECK(single->program.segments.device_starts == 3);
  const Picoseconds start = 19'000'000;  // 20 us, of which an op pays 1 in any case
  CHECK(single->program.simulation.makespan - merged->program.simulation.makespan == 2 * start);
  CHECK(merged->program.segments.per_op_time == single->program.simulation.makespan);
}

TEST_CASE("a device with memory of its own pays for what crosses") {
  Options options;
  options.backend_of = AllTwin;
  const auto shared = MakeScheduled(Parsed(kChain), options, 1);
  MemorySpace own = options.board.memory_spaces[0];
  own.name = "own";
  own.holds_arena = own.holds_constants = false;
  options.board.memory_spaces.push_back(own);
  options.board.units[1].runs_from = "own";
  options.board.links = {{"", "ram", "own", 1e9, 1000}, {"", "own", "ram", 2e9, 0}};
  const auto apart = MakeScheduled(Parsed(kChain), options, 1);
  REQUIRE(shared.ok());
  REQUIRE(apart.ok());
  // 16384 bytes: 16.384 us and 1 us of latency there, 8.192 us back.
  CHECK(apart->program.simulation.makespan - shared->program.simulation.makespan == 25'576'000);
}

TEST_CASE("the same graph and mapping give the same segments") {
  Options options;
  options.backend_of = Half;
  const auto first = MakeScheduled(GraphOfSegments(17), options, 17);
  const auto second = MakeScheduled(GraphOfSegments(17), options, 17);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(PrintGraph(first->graph) == PrintGraph(second->graph));
  CHECK(first->program.schedule.segments == second->program.schedule.segments);
  CHECK(first->program.arena.bytes == second->program.arena.bytes);
}

}  // namespace
}  // namespace tenon::converter
