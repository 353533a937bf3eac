#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "converter/ir/text.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/report/decisions.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

using Order = std::vector<Index>;

Located LocateRandom(uint64_t seed) {
  test::RandomGraphOptions shape;
  shape.most_ops = 30;
  Located located{test::RandomGraph(seed, shape), {}, {}};
  for (const OpId id : located.graph.OpOrder()) UsePortableKernel(located.graph.MutableOp(id));
  auto locations = AssignLocations(located.graph, located.report);
  REQUIRE(locations.ok());
  located.locations = std::move(*locations);
  return located;
}

/// One of the orders that the precedence allows.
std::vector<Index> RandomOrder(std::mt19937& random, const MemoryProblem& problem) {
  Order order;
  std::vector<Index> ready;
  std::vector<bool> done(problem.nodes.size(), false);
  while (order.size() < done.size()) {
    ready.clear();
    for (Index v = 0; v < done.size(); ++v) {
      const auto& predecessors = problem.nodes[v].predecessors;
      if (!done[v] &&
          std::all_of(predecessors.begin(), predecessors.end(), [&](Index p) { return done[p]; })) {
        ready.push_back(v);
      }
    }
    order.push_back(ready[random() % ready.size()]);
    done[order.back()] = true;
  }
  return order;
}

int64_t LiveBytes(const Graph& graph, const Locations& locations) {
  ArenaOptions options;
  options.place.work_budget = 0;
  return PlanArena(graph, locations, options).lower_bound;
}

Index NodeOf(const Located& located, const OrderProblem& order, std::string_view output) {
  const OpId id = located.graph.tensor(located.Id(output)).producer;
  const auto at = std::find(order.steps.begin(), order.steps.end(), id);
  REQUIRE(at != order.steps.end());
  return static_cast<Index>(at - order.steps.begin());
}

TEST_CASE(
    "MakeOrderProblem: parts written in place are one storage, and its readers wait for all") {
  const Located located = Locate(R"(graph g
input %x: f32[1,64]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%c = concat(%a, %b) {axis=1}
%y = unary(%c) {function=sin}
output %y
)");
  REQUIRE(located.Elided("c"));
  const OrderProblem order = MakeOrderProblem(located.graph, located.locations);
  const MemoryProblem& problem = order.problem;
  REQUIRE(problem.nodes.size() == 3);
  CHECK(problem.storages.size() == 3);  // x, c, y
  const MemoryNode& y = problem.nodes[NodeOf(located, order, "y")];
  CHECK(y.predecessors == Order{0, 1});
  REQUIRE(y.hand_overs.size() == 1);
  CHECK(problem.storages[y.hand_overs[0].from].bytes == 512);
  CHECK(problem.storages[y.hand_overs[0].to].to_end);
  CHECK(problem.nodes[0].predecessors.empty());
  CHECK(problem.nodes[0].storages.size() == 2);
}

TEST_CASE("MakeOrderProblem: constants take no memory, workspaces do") {
  Located located = Locate(R"(graph g
input %x: f32[64]
const %k: f32[64] = random(1)
%y = binary(%x, %k)
output %y
)");
  located.graph.MutableOp(located.graph.OpOrder()[0]).workspace_bytes = 100;
  const OrderProblem order = MakeOrderProblem(located.graph, located.locations);
  CHECK(order.problem.storages.size() == 2);
  CHECK(order.problem.nodes[0].transient_bytes == 128);  // as the placer pads it
}

TEST_CASE("MakeOrderProblem: an input that only an unread view reads is alive at the first node") {
  const Located located = Locate(R"(graph g
input %x: f32[16]
input %z: f32[2,16]
%v = slice(%z) {begins=[1,0], sizes=[1,16], steps=[1,1]}
%y = unary(%x) {function=exp}
output %y
)");
  REQUIRE(located.Elided("v"));
  const MemoryProblem problem = MakeOrderProblem(located.graph, located.locations).problem;
  CHECK(problem.first_node_bytes == 128);
  CHECK(PeakOf(problem, {0}) == 64 + 128);  // y is written over x
  const MemoryOrder found = FindMemoryOrder(problem, {});
  CHECK(found.peak == 64 + 128);
  CHECK(found.source_peak == 64 + 128);
  CHECK(found.exact);
}

TEST_CASE("FindMemoryOrder: bytes alive at the first node only are priced, not claimed optimal") {
  MemoryProblem problem;
  problem.nodes.resize(2);
  problem.nodes[0].transient_bytes = 100;
  problem.nodes[1].transient_bytes = 10;
  problem.first_node_bytes = 50;
  CHECK(PeakOf(problem, {0, 1}) == 150);
  CHECK(PeakOf(problem, {1, 0}) == 100);
  const MemoryOrder found = FindMemoryOrder(problem, {});
  CHECK(found.peak == PeakOf(problem, found.order));
  CHECK(found.peak <= found.source_peak);
  CHECK(found.source_peak == 150);
  CHECK(found.lower_bound == 100);
  CHECK(found.exact == (found.peak == 100));
}

TEST_CASE("MakeOrderProblem: under any order, its peak is the placer's sum of live bytes") {
  std::mt19937 random(1);
  int compared = 0;
  int elided = 0;
  std::set<int64_t> differences;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Located located = LocateRandom(seed);
    const OrderProblem problem = MakeOrderProblem(located.graph, located.locations);
    for (int round = 0; round < 3; ++round) {
      const Order order = RandomOrder(random, problem.problem);
      std::vector<OpId> steps;
      for (const Index v : order) steps.push_back(problem.steps[v]);
      located.graph.SetOrder(WithElidedOps(located.graph, located.locations, steps));
      const Status status = Verify(located.graph);
      REQUIRE_MESSAGE(status.ok(), status.error().message);
      const int64_t peak = PeakOf(problem.problem, order);
      const int64_t live = LiveBytes(located.graph, located.locations);
      REQUIRE(live <= peak);
      // The placer leaves out the padding of the storage on top.
      REQUIRE(peak - live < kStorageAlignment);
      ++compared;
      elided += static_cast<int>(located.graph.OpOrder().size() - steps.size());
    }
  }
  CHECK(compared > 300);
  CHECK(elided > 300);
}

TEST_CASE("WithElidedOps: executed ops keep the order given") {
  const Located located = LocateRandom(7);
  const OrderProblem problem = MakeOrderProblem(located.graph, located.locations);
  std::mt19937 random(2);
  std::vector<OpId> steps;
  for (const Index v : RandomOrder(random, problem.problem)) steps.push_back(problem.steps[v]);
  std::vector<OpId> executed;
  for (const OpId id : WithElidedOps(located.graph, located.locations, steps)) {
    if (!located.locations.elided[static_cast<size_t>(id)]) executed.push_back(id);
  }
  CHECK(executed == steps);
}

// --- through the converter ----------------------------------------------------------------------

/// Two branches that each grow before they shrink, breadth first.
constexpr std::string_view kTwoHills = R"(graph hills
input %x: f32[1,64]
const %k: f32[16,1] = random(1)
const %l: f32[16,1] = random(2)
%a1 = binary(%x, %k)
%b1 = binary(%x, %l)
%a2 = reduce(%a1) {function=max, axes_mask=2}
%b2 = reduce(%b1) {function=max, axes_mask=2}
%y = binary(%a2, %b2)
output %y
)";

ConvertOptions OptionsFor(OrderMode mode) {
  ConvertOptions options = test::OptionsFor();
  options.compile.order.mode = mode;
  return options;
}

Conversion ConvertHills(const ConvertOptions& options) {
  auto graph = ParseGraph(kTwoHills);
  if (!graph.ok()) FAIL(graph.error().message);
  auto conversion = ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

TEST_CASE("ConvertGraph: the order found needs a smaller arena than the model's own") {
  const Conversion source = ConvertHills(OptionsFor(OrderMode::kSource));
  const Conversion search = ConvertHills(OptionsFor(OrderMode::kSearch));
  CHECK_FALSE(source.order.changed);
  CHECK(search.order.changed);
  CHECK(search.memory.arena_bytes < source.memory.arena_bytes);
  CHECK(search.memory.source_order_bytes == source.memory.arena_bytes);
  CHECK(search.order.search.exact);
  const auto position = [&](const char* name) { return search.graph_text.find(name); };
  CHECK(position("%a2:") < position("%b1:"));
}

TEST_CASE(
    "ConvertGraph: without search the model's order stays, and nothing is claimed of others") {
  const Conversion source = ConvertHills(OptionsFor(OrderMode::kSource));
  CHECK(source.graph_text.find("%b1:") < source.graph_text.find("%a2:"));
  const auto order = DecisionsJson(source)["order"];
  CHECK(order["mode"] == "source");
  CHECK(order["subgraphs"].empty());
  CHECK(order["live_bytes"].is_null());
}

TEST_CASE("ConvertGraph: no budget leaves the model's order") {
  ConvertOptions options = OptionsFor(OrderMode::kSearch);
  options.compile.order.budget = 0;
  const Conversion conversion = ConvertHills(options);
  CHECK_FALSE(conversion.order.changed);
  CHECK_FALSE(conversion.order.search.exact);
}

TEST_CASE("ConvertGraph: decisions tell what the search found, subgraph by subgraph") {
  ConvertOptions options = OptionsFor(OrderMode::kSearch);
  options.compile.order.seed = 5;
  const auto json = DecisionsJson(ConvertHills(options));
  const auto& order = json["order"];
  CHECK(order["seed"] == 5);
  CHECK(order["changed"] == true);
  CHECK(order["live_bytes"] < order["source_live_bytes"]);
  REQUIRE(order["subgraphs"].size() == 1);
  const auto& subgraph = order["subgraphs"][0];
  CHECK(subgraph["ops"] == 5);
  CHECK(subgraph["orders"] == 6);
  CHECK(subgraph["exact"] == true);
  CHECK(subgraph["tried"] > 0);
  CHECK(json["memory"]["arena_bytes"] < json["memory"]["source_order_bytes"]);
}

TEST_CASE("ConvertGraph: on one unit a wanted time is met by every order or by none") {
  ConvertOptions options = OptionsFor(OrderMode::kSearch);
  const Conversion searched = ConvertHills(options);
  CHECK_FALSE(searched.order.target_met.has_value());
  CHECK(DecisionsJson(searched)["order"]["target_met"].is_null());
  const double ms = static_cast<double>(searched.time.after) / 1e9;
  for (const double share : {2.0, 0.5}) {
    options.compile.order.target_ms = share * ms;
    const Conversion wanted = ConvertHills(options);
    CHECK(wanted.order.target_met == (share > 1));
    CHECK(wanted.memory.arena_bytes == searched.memory.arena_bytes);
  }
}

TEST_CASE("ConvertGraph: random graphs never need a larger arena than in their own order") {
  int smaller = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    test::RandomGraphOptions shape;
    shape.most_ops = 25;
    ConvertOptions options = OptionsFor(OrderMode::kSource);
    options.compile.arena.place.work_budget = 2000;
    const auto source = ConvertGraph(test::RandomGraph(seed, shape), options);
    options.compile.order.mode = OrderMode::kSearch;
    const auto search = ConvertGraph(test::RandomGraph(seed, shape), options);
    REQUIRE(source.ok());
    REQUIRE(search.ok());
    REQUIRE(search->memory.arena_bytes <= source->memory.arena_bytes);
    const bool less = search->memory.arena_bytes < source->memory.arena_bytes;
    REQUIRE(search->order.changed == less);
    smaller += less ? 1 : 0;
  }
  CHECK(smaller > 5);
}

}  // namespace
}  // namespace tenon::converter
