#include "converter/solve/order/key_nodes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

namespace tenon::converter {
namespace {

using Nodes = std::vector<int>;
using Parts = std::vector<Nodes>;

Nodes KeyNodes(const Dag& dag) {
  const auto keys = FindKeyNodes(dag);
  REQUIRE(keys.ok());
  return *keys;
}

Parts Cut(const Dag& dag, int smallest) {
  const auto parts = CutAtKeyNodes(dag, smallest);
  REQUIRE(parts.ok());
  return *parts;
}

/// Edges go from smaller to larger numbers, then the numbers are shuffled.
Dag RandomDag(std::mt19937& random, int nodes, double density) {
  Nodes name(static_cast<size_t>(nodes));
  for (int i = 0; i < nodes; ++i) name[static_cast<size_t>(i)] = i;
  if (random() % 2 == 0) std::shuffle(name.begin(), name.end(), random);
  Dag dag{nodes, {}};
  std::bernoulli_distribution has_edge(density);
  for (int a = 0; a < nodes; ++a) {
    for (int b = a + 1; b < nodes; ++b) {
      const bool near = b == a + 1 && random() % 3 != 0;  // so that key nodes are not rare
      if (near || (b - a < 5 && has_edge(random))) {
        dag.edges.emplace_back(name[static_cast<size_t>(a)], name[static_cast<size_t>(b)]);
      }
    }
  }
  return dag;
}

/// True if a sink can be reached from a source without `avoided`, by listing what can be reached.
bool PathAvoids(const Dag& dag, int avoided) {
  std::set<int> sources;
  std::set<int> sinks;
  for (int v = 0; v < dag.nodes; ++v) {
    sources.insert(v);
    sinks.insert(v);
  }
  for (const auto& [a, b] : dag.edges) {
    sources.erase(b);
    sinks.erase(a);
  }
  std::set<int> reached = sources;
  reached.erase(avoided);
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [a, b] : dag.edges) {
      if (b != avoided && reached.count(a) != 0) grew |= reached.insert(b).second;
    }
  }
  return std::any_of(sinks.begin(), sinks.end(), [&](int v) { return reached.count(v) != 0; });
}

TEST_CASE("FindKeyNodes: forks and joins are key nodes, what lies between is not") {
  CHECK(KeyNodes({4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}}) == Nodes{0, 3});
}

TEST_CASE("FindKeyNodes: every node of a chain is one, in order") {
  CHECK(KeyNodes({4, {{2, 0}, {0, 3}, {3, 1}}}) == Nodes{2, 0, 3, 1});
}

TEST_CASE("FindKeyNodes: a shortcut passes nodes by") {
  CHECK(KeyNodes({4, {{0, 1}, {1, 2}, {2, 3}, {0, 2}}}) == Nodes{0, 2, 3});
}

TEST_CASE("FindKeyNodes: several sources and sinks are no key nodes") {
  CHECK(KeyNodes({5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}}}) == Nodes{2});
}

TEST_CASE("FindKeyNodes: a node beside all others leaves none") {
  CHECK(KeyNodes({3, {{0, 1}}}).empty());
}

TEST_CASE("FindKeyNodes: an edge that is there twice changes nothing") {
  CHECK(KeyNodes({3, {{0, 1}, {0, 1}, {1, 2}}}) == Nodes{0, 1, 2});
}

TEST_CASE("FindKeyNodes: no nodes, no key nodes; one node is one") {
  CHECK(KeyNodes({0, {}}).empty());
  CHECK(KeyNodes({1, {}}) == Nodes{0});
}

TEST_CASE("FindKeyNodes: cycles and unknown nodes are errors") {
  CHECK_FALSE(FindKeyNodes({2, {{0, 1}, {1, 0}}}).ok());
  CHECK_FALSE(FindKeyNodes({1, {{0, 0}}}).ok());
  CHECK_FALSE(FindKeyNodes({2, {{0, 2}}}).ok());
  CHECK_FALSE(FindKeyNodes({2, {{-1, 1}}}).ok());
}

TEST_CASE("FindKeyNodes: on random DAGs, exactly the nodes that no path avoids") {
  std::mt19937 random(1);
  size_t keys_seen = 0;
  for (int round = 0; round < 4000; ++round) {
    const int nodes = 1 + static_cast<int>(random() % 14);
    const Dag dag = RandomDag(random, nodes, 0.05 + 0.05 * static_cast<double>(round % 6));
    Nodes expected;
    for (int v = 0; v < nodes; ++v) {
      if (!PathAvoids(dag, v)) expected.push_back(v);
    }
    Nodes found = KeyNodes(dag);
    keys_seen += found.size();
    std::sort(found.begin(), found.end());
    REQUIRE(found == expected);
  }
  CHECK(keys_seen > 2000);  // the comparison has met graphs that have some
}

TEST_CASE(
    "CutAtKeyNodes: a subgraph ends with its key node; a one-op subgraph joins the one before") {
  //      1
  // 0 <     > 3 - 4 - (5, 6) - 7
  //      2
  const Dag dag{8, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {4, 6}, {5, 7}, {6, 7}}};
  CHECK(Cut(dag, 1) == Parts{{0}, {1, 2, 3, 4}, {5, 6, 7}});
}

TEST_CASE("CutAtKeyNodes: a small subgraph joins its smaller neighbour") {
  //      1                   6
  // 0 <     > 3 < (4) > 5 <  7  > 9 ; three wide at the end
  //      2                   8
  const Dag dag{10,
                {{0, 1},
                 {0, 2},
                 {1, 3},
                 {2, 3},
                 {3, 4},
                 {3, 5},
                 {4, 5},
                 {5, 6},
                 {5, 7},
                 {5, 8},
                 {6, 9},
                 {7, 9},
                 {8, 9}}};
  CHECK(Cut(dag, 1) == Parts{{0}, {1, 2, 3}, {4, 5}, {6, 7, 8, 9}});
  CHECK(Cut(dag, 2) == Parts{{0, 1, 2, 3}, {4, 5}, {6, 7, 8, 9}});
  // {4, 5} lies between four nodes and four: the one before.
  CHECK(Cut(dag, 3) == Parts{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9}});
  CHECK(Cut(dag, 100) == Parts{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
}

TEST_CASE("CutAtKeyNodes: subgraphs in their order are one topological order of all nodes") {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const Dag dag = RandomDag(random, 1 + static_cast<int>(random() % 30), 0.1);
    const int smallest = 1 + round % 5;
    const Parts parts = Cut(dag, smallest);
    std::vector<size_t> position(static_cast<size_t>(dag.nodes), SIZE_MAX);
    size_t next = 0;
    for (const Nodes& part : parts) {
      if (parts.size() > 1) REQUIRE(part.size() >= static_cast<size_t>(smallest));
      for (const int v : part) position[static_cast<size_t>(v)] = next++;
    }
    REQUIRE(next == position.size());
    for (const auto& [a, b] : dag.edges) {
      REQUIRE(position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)]);
    }
  }
}

double SecondsFor(int nodes) {
  Dag dag{nodes, {}};
  // Numbered from the end, so that the numbers are no topological order.
  const auto name = [&](int v) { return nodes - 1 - v; };
  for (int v = 1; v < nodes; ++v) {
    dag.edges.emplace_back(name(v - 1), name(v));
    if (v % 3 == 0) dag.edges.emplace_back(name(v - 3), name(v));
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(KeyNodes(dag).size() == static_cast<size_t>((nodes + 2) / 3 + (nodes - 1) % 3));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_CASE("FindKeyNodes: a million nodes take a moment") {
  // Anything quadratic would take hours; the bound leaves room for busy machines and sanitizers.
  CHECK(SecondsFor(1'000'000) < 10.0);
}

TEST_CASE("CutAtForksAndJoins: large parts end where paths fork or meet, small ones stay") {
  std::mt19937 random(7);
  int cuts = 0;
  for (int i = 0; i < 100; ++i) {
    const Dag dag = RandomDag(random, 40, 0.3);
    const Parts parts = Cut(dag, 4);
    const Parts finer = CutAtForksAndJoins(dag, parts, 6);
    std::vector<int> degree_in(40, 0);
    std::vector<int> degree_out(40, 0);
    for (const auto& [from, to] : dag.edges) {
      ++degree_out[static_cast<size_t>(from)];
      ++degree_in[static_cast<size_t>(to)];
    }
    std::set<int> ends;
    Nodes before;
    Nodes after;
    for (const Nodes& part : parts) {
      ends.insert(part.back());
      before.insert(before.end(), part.begin(), part.end());
    }
    for (const Nodes& part : finer) {
      after.insert(after.end(), part.begin(), part.end());
      const auto last = static_cast<size_t>(part.back());
      if (ends.count(part.back()) > 0) continue;
      ++cuts;
      const bool forks_or_joins = degree_in[last] > 1 || degree_out[last] > 1;
      CHECK(forks_or_joins);
      CHECK(part.size() <= 6);
    }
    CHECK(before == after);
    CHECK(CutAtForksAndJoins(dag, parts, 40) == parts);
  }
  CHECK(cuts > 50);
}

}  // namespace
}  // namespace tenon::converter
