#include "converter/solve/order/memory_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>

#include "converter/solve/order/beam_search.hpp"
#include "converter/solve/order/downset_search.hpp"
#include "tests/support/progress_log.hpp"
#include "tests/unit/converter/solve/order/memory_problems.hpp"

namespace tenon::converter {
namespace {

// --- the accounting -----------------------------------------------------------------------------

TEST_CASE("PeakOf: what a node reads and writes lives while it runs") {
  ProblemBuilder builder;
  builder.Chain({}, {5, 7, 1});
  CHECK(PeakOf(std::move(builder).Build(), {0, 1, 2}) == 12);
}

TEST_CASE("PeakOf: workspace counts in its own step only") {
  ProblemBuilder builder;
  builder.Chain({}, {5, 7, 1});
  MemoryProblem problem = std::move(builder).Build();
  problem.nodes[2].transient_bytes = 3;
  CHECK(PeakOf(problem, {0, 1, 2}) == 12);
  problem.nodes[2].transient_bytes = 5;
  CHECK(PeakOf(problem, {0, 1, 2}) == 13);
}

TEST_CASE("PeakOf: a hand-over saves the output where the input is not needed any more") {
  ProblemBuilder builder;
  const Index x = builder.Add({}, 5);
  const Index y = builder.Add({x}, 5);
  builder.Add({x}, 1);
  MemoryProblem problem = std::move(builder).Build();
  problem.nodes[y].hand_overs = {{x, y}};
  CHECK(PeakOf(problem, {0, 1, 2}) == 10);
  CHECK(PeakOf(problem, {0, 2, 1}) == 6);
}

TEST_CASE("PeakOf: agrees with lifetimes on random problems and orders, and backwards in time") {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const MemoryProblem problem = RandomProblem(random, 1 + random() % 20, 20);
    Order order = RandomOrder(random, problem);
    const int64_t peak = NaivePeak(problem, order);
    REQUIRE(PeakOf(problem, order) == peak);
    std::reverse(order.begin(), order.end());
    for (Index& v : order) v = static_cast<Index>(order.size() - 1 - v);
    const MemoryProblem reversed = Reversed(problem);
    REQUIRE(IsOrder(reversed, order));
    REQUIRE(PeakOf(reversed, order) == peak);
  }
}

TEST_CASE("IsOrder: refuses what is missing, doubled or too early") {
  const MemoryProblem problem = TwoHills();
  CHECK(IsOrder(problem, {0, 2, 4, 1, 3, 5}));
  CHECK_FALSE(IsOrder(problem, {0, 2, 4, 1, 3}));
  CHECK_FALSE(IsOrder(problem, {0, 2, 4, 1, 3, 3}));
  CHECK_FALSE(IsOrder(problem, {0, 4, 2, 1, 3, 5}));
}

// --- optimality ---------------------------------------------------------------------------------

TEST_CASE("FindMemoryOrder: finishes one hill before it climbs the next") {
  const MemoryProblem problem = TwoHills();
  const MemoryOrder found = Find(problem);
  CHECK(found.source_peak == 4 + 10 + 10);
  // The second hill stands beside x and the first one's end.
  CHECK(found.peak == 4 + 10 + 1);
  CHECK(found.exact);
}

TEST_CASE("FindMemoryOrder: on random problems, the smallest peak of all orders") {
  std::mt19937 random(4);
  int improved = 0;
  for (int round = 0; round < 1500; ++round) {
    const MemoryProblem problem = RandomProblem(random, 1 + random() % 8, round % 2 == 0 ? 4 : 50);
    const Enumerator all(problem);
    const MemoryOrder found = Find(problem);
    REQUIRE(found.peak == all.smallest_peak());
    REQUIRE(found.exact);
    improved += found.peak < found.source_peak ? 1 : 0;
  }
  CHECK(improved > 100);  // so the search has had something to do
}

TEST_CASE("FindMemoryOrder: what was searched for before is looked up, by problem and options") {
  std::mt19937 random(7);
  MemoryOrderMemo memo;
  const MemoryProblem a = RandomProblem(random, 10, 20);
  const MemoryProblem b = RandomProblem(random, 10, 20);
  for (const MemoryProblem* problem : {&a, &b, &a}) {
    const MemoryOrder expected = FindMemoryOrder(*problem, {});
    const MemoryOrder found = FindMemoryOrder(*problem, {}, memo);
    CHECK(found.order == expected.order);
    CHECK(found.peak == expected.peak);
    CHECK(found.expanded == expected.expanded);
  }
  CHECK(memo.known.size() == 2);
  MemoryOrderOptions other;
  other.work_budget = 1;
  (void)FindMemoryOrder(a, other, memo);
  other = {};
  other.seed = 2;
  (void)FindMemoryOrder(a, other, memo);
  other = {};
  other.key_nodes = false;
  (void)FindMemoryOrder(a, other, memo);
  CHECK(memo.known.size() == 5);
}

TEST_CASE("FindMemoryOrder: remembers no more than it may") {
  std::mt19937 random(7);
  MemoryOrderMemo memo;
  const MemoryProblem a = RandomProblem(random, 10, 20);
  (void)FindMemoryOrder(a, {}, memo);
  memo.most_bytes = memo.bytes;
  const MemoryProblem b = RandomProblem(random, 10, 20);
  CHECK(FindMemoryOrder(b, {}, memo).order == FindMemoryOrder(b, {}).order);
  CHECK(memo.known.size() == 1);
}

TEST_CASE("DownsetSearch: alone and in both directions, the smallest peak of all orders") {
  std::mt19937 random(5);
  for (int round = 0; round < 1500; ++round) {
    const MemoryProblem forwards = RandomProblem(random, 1 + random() % 8, 30);
    const MemoryProblem problem = round % 2 == 0 ? forwards : Reversed(forwards);
    const int64_t smallest = Enumerator(problem).smallest_peak();
    // From the weakest bound, in the smallest slices.
    DownsetSearch search(problem, 0, INT64_MAX);
    while (search.Run(1) == DownsetSearch::Outcome::kOutOfWork) {
      REQUIRE(search.lower_bound() <= smallest);
    }
    REQUIRE(IsOrder(problem, search.order()));
    REQUIRE(NaivePeak(problem, search.order()) == smallest);
    DownsetSearch below(problem, 0, smallest);
    REQUIRE(below.Run(kEnough) == DownsetSearch::Outcome::kNoneBelow);
    REQUIRE(below.lower_bound() == smallest);
  }
}

TEST_CASE("BeamSearch: stays within its target, and wide enough finds what there is") {
  std::mt19937 random(6);
  for (int round = 0; round < 1000; ++round) {
    const MemoryProblem problem = RandomProblem(random, 1 + random() % 8, 30);
    BeamOptions options;
    options.width = 100'000;
    options.target = Enumerator(problem).smallest_peak();
    SearchEffort effort;
    const auto order = BeamSearch(problem, options, effort);
    REQUIRE(order.has_value());
    REQUIRE(IsOrder(problem, *order));
    REQUIRE(NaivePeak(problem, *order) == options.target);
    --options.target;
    REQUIRE_FALSE(BeamSearch(problem, options, effort).has_value());
  }
}

TEST_CASE("FindMemoryOrder: without much work it is still valid, and bounded from both sides") {
  std::mt19937 random(7);
  int open = 0;
  for (int round = 0; round < 300; ++round) {
    const MemoryProblem problem = RandomProblem(random, 40, 1000);
    const MemoryOrder best = Find(problem);
    const MemoryOrder hurried = Find(problem, 10);
    REQUIRE(hurried.expanded <= 10);
    REQUIRE(hurried.peak >= best.lower_bound);
    REQUIRE(hurried.lower_bound <= best.peak);
    open += hurried.exact ? 0 : 1;
  }
  CHECK(open > 10);
}

TEST_CASE("FindMemoryOrder: no work leaves the source order") {
  const MemoryOrder found = Find(TwoHills(), 0);
  CHECK(found.order == Order{0, 1, 2, 3, 4, 5});
  CHECK(found.expanded == 0);
  CHECK_FALSE(found.exact);
}

TEST_CASE("FindMemoryOrder: the same seed gives the same order") {
  std::mt19937 random(8);
  const MemoryProblem problem = RandomProblem(random, 60, 1000);
  CHECK(Find(problem, 3000, 9).order == Find(problem, 3000, 9).order);
}

TEST_CASE("FindMemoryOrder: a search that uses up its budget tells its progress to the end") {
  std::mt19937 random(18);
  for (const size_t nodes : {200, 4000}) {  // at once, and in windows
    test::ProgressLog log;
    MemoryOrderOptions options;
    options.work_budget = 20'000;
    options.progress = log.Listener();
    (void)FindMemoryOrder(RandomProblem(random, nodes, 1000), options);
    CAPTURE(nodes);
    CHECK(log.IsOrderly());
    CHECK(log.shares().size() > 10);
    CHECK(log.shares().back() > 0.3);  // one subgraph gets half of the budget, at most
  }
}

TEST_CASE("FindMemoryOrder: nothing to search, no progress") {
  test::ProgressLog log;
  MemoryOrderOptions options;
  options.progress = log.Listener();
  ProblemBuilder builder;
  (void)builder.Chain({}, {100, 200, 4});
  (void)FindMemoryOrder(std::move(builder).Build(), options);
  options.work_budget = 0;
  (void)FindMemoryOrder(TwoHills(), options);
  CHECK(log.shares().empty());
}

TEST_CASE("Progress: steps of a hundredth, nothing twice, 1 is the end") {
  test::ProgressLog log;
  Progress progress(log.Listener(), 1000);
  for (const int64_t spent : {0, 9, 10, 11, 19, 20, 500, 504, 999, 1200, 1300}) {
    progress.Report(spent);
  }
  CHECK(log.shares() == std::vector<double>{0.01, 0.02, 0.5, 0.999, 1.0});
}

TEST_CASE("FindMemoryOrder: nothing, and one node") {
  MemoryProblem problem;
  problem.base_bytes = 7;
  CHECK(Find(problem).peak == 7);
  problem.nodes.resize(1);
  problem.nodes[0].transient_bytes = 2;
  CHECK(Find(problem).peak == 9);
}

// --- subgraphs ----------------------------------------------------------------------------------

TEST_CASE("FindMemoryOrder: a subgraph that does not make the peak keeps its source order") {
  ProblemBuilder builder;
  const Index x = builder.Chain({}, {100, 100, 4});
  const Index a = builder.Add({x}, 10);
  const Index b = builder.Add({x}, 10);
  builder.Add({builder.Add({a}, 1), builder.Add({b}, 1)}, 1);
  const MemoryOrder found = Find(std::move(builder).Build());
  CHECK(found.order == Order{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(found.exact);
  CHECK(found.expanded == 0);
}

TEST_CASE("FindMemoryOrder: subgraphs say how many orders there are and how many were looked at") {
  ProblemBuilder builder;
  Index x = builder.Add({}, 4);
  for (int hill = 0; hill < 2; ++hill) {
    const Index a = builder.Add({x}, 10);
    const Index b = builder.Add({x}, 10);
    x = builder.Add({builder.Add({a}, 1), builder.Add({b}, 1)}, 4);
  }
  const MemoryOrder found = Find(std::move(builder).Build());
  REQUIRE(found.subgraphs.size() == 2);
  for (const SubgraphOrder& subgraph : found.subgraphs) {
    // Two chains of two: six ways to interleave them.
    REQUIRE(subgraph.orders.has_value());
    CHECK(*subgraph.orders == 6);
    CHECK(subgraph.source_peak == 24);
    CHECK(subgraph.peak == 15);
    CHECK(subgraph.exact);
    CHECK(subgraph.expanded > 0);
  }
  CHECK(found.subgraphs[0].nodes == 6);  // with the one op before the fork
  CHECK(found.subgraphs[1].nodes == 5);
}

TEST_CASE("FindMemoryOrder: cut into subgraphs, still the smallest peak of all orders") {
  std::mt19937 random(11);
  int cut = 0;
  for (int round = 0; round < 500; ++round) {
    const MemoryProblem problem = Glue(RandomProblem(random, 1 + random() % 5, 30),
                                       RandomProblem(random, 1 + random() % 4, 30));
    const MemoryOrder found = Find(problem);
    REQUIRE(found.peak == Enumerator(problem).smallest_peak());
    REQUIRE(found.exact);
    cut += found.subgraphs.size() > 1 ? 1 : 0;
  }
  CHECK(cut > 200);
}

TEST_CASE("FindMemoryOrder: one subgraph's peak is no bound for what another leaves unproved") {
  std::mt19937 random(12);
  int open = 0;
  for (int round = 0; round < 150; ++round) {
    const MemoryProblem problem =
        Glue(RandomProblem(random, 25, 1000), RandomProblem(random, 25, 1000));
    const MemoryOrder best = Find(problem);
    for (const int64_t work : {15, 60, 150}) {
      const MemoryOrder hurried = Find(problem, work);
      REQUIRE(hurried.lower_bound <= best.peak);
      for (size_t i = 0; best.exact && i < best.subgraphs.size(); ++i) {
        if (best.subgraphs[i].peak < best.peak) continue;
        REQUIRE(hurried.subgraphs[i].lower_bound <= best.subgraphs[i].peak);
      }
      open += hurried.exact ? 0 : 1;
    }
  }
  CHECK(open > 10);
}

TEST_CASE("CountOrders: agrees with listing them") {
  std::mt19937 random(10);
  for (int round = 0; round < 300; ++round) {
    const MemoryProblem problem = RandomProblem(random, 1 + random() % 8, 5);
    REQUIRE(CountOrders(problem, 1000) == Enumerator(problem).orders());
  }
}

TEST_CASE("CountOrders: stops counting at the largest number, and at too many downsets") {
  ProblemBuilder independent;
  for (int i = 0; i < 12; ++i) independent.Add({}, 1);
  const MemoryProblem wide = std::move(independent).Build();
  CHECK(CountOrders(wide, 5000) == 479'001'600U);  // 12!
  CHECK_FALSE(CountOrders(wide, 4095).has_value());
  ProblemBuilder chains;  // 80 choose 40 = 1e23 ways
  chains.Chain({}, std::vector<int64_t>(40, 1));
  chains.Chain({}, std::vector<int64_t>(40, 1));
  CHECK(CountOrders(std::move(chains).Build(), 2000) == UINT64_MAX);
}

// --- networks -----------------------------------------------------------------------------------

TEST_CASE("FindMemoryOrder: networks of hundreds of nodes are solved and proved") {
  const auto check = [](const char* name, const MemoryProblem& problem,
                        int64_t peak_kib_hundredths) {
    CAPTURE(std::string(name));
    const MemoryOrder found = Find(problem, MemoryOrderOptions().work_budget);
    CHECK(found.exact);
    CHECK(found.peak * 100 / 1024 == peak_kib_hundredths);
  };
  check("NASNet-A", NasnetProblem(2), 405168);
  check("DARTS", DartsProblem(4), 36750);
  check("DenseNet-264", DensenetProblem({6, 12, 64, 48}), 176400);
}

TEST_CASE("FindMemoryOrder: RandWire's optimum, proved; Inception's source order is optimal") {
  const char* given = std::getenv("TENON_SHARED");
  const char* source = std::getenv("TENON_SOURCE_DIR");
  std::filesystem::path shared = given != nullptr ? given : "";
  if (given == nullptr && source != nullptr) {
    shared = std::filesystem::path(source).parent_path() / "shared";
  }
  const auto randwire = ReadDagProblem(shared / "graphs/dags/randwire_large.dag.json");
  const auto inception = ReadDagProblem(shared / "graphs/dags/inception_v3.dag.json");
  if (!randwire.has_value() || !inception.has_value()) {
    MESSAGE("skipped: no shared/graphs/dags (set TENON_SHARED)");
    return;
  }
  const MemoryOrder found = Find(*randwire, MemoryOrderOptions().work_budget);
  CHECK(found.source_peak == 5'795'328);  // as stated in the file
  CHECK(found.peak == 4'829'440);         // 4716.25 KiB
  CHECK(found.exact);
  const MemoryOrder same = Find(*inception);
  CHECK(same.peak == 2'074'464);
  CHECK(same.exact);
}

TEST_CASE("FindMemoryOrder: equal subgraphs are searched once, and ordered alike") {
  // Blocks between key nodes: two branches that are wide first and narrow then.
  MemoryProblem problem;
  const auto add = [&](int64_t bytes, std::vector<Index> before) {
    const auto number = static_cast<Index>(problem.nodes.size());
    problem.storages.push_back({bytes, false, false});
    MemoryNode node;
    node.predecessors = before;
    node.storages = before;
    node.storages.push_back(number);
    problem.nodes.push_back(std::move(node));
    return number;
  };
  Index last = add(8, {});
  constexpr int kBlocks = 5;
  for (int i = 0; i < kBlocks; ++i) {
    const Index a = add(100, {last});
    const Index b = add(100, {last});
    const Index c = add(1, {a});
    const Index d = add(1, {b});
    last = add(8, {c, d});
  }
  const MemoryOrder found = FindMemoryOrder(problem, {});
  CHECK(found.exact);
  CHECK(found.peak < found.source_peak);
  REQUIRE(found.subgraphs.size() == kBlocks);
  int shared = 0;
  int64_t expanded = 0;
  for (const SubgraphOrder& subgraph : found.subgraphs) {
    if (subgraph.shared) ++shared;
    if (!subgraph.shared) expanded += subgraph.expanded;
    CHECK(subgraph.peak <= found.peak);
  }
  CHECK(shared >= kBlocks - 3);
  CHECK(found.expanded == expanded);
}

}  // namespace
}  // namespace tenon::converter
