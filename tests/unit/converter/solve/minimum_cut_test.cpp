#include "converter/solve/minimum_cut.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {

TEST_CASE("MinimumCut: the least capacity of edges between two nodes") {
  MinimumCut cut(6);
  cut.AddEdge(0, 1, 16);
  cut.AddEdge(0, 2, 13);
  cut.AddEdge(1, 2, 10);
  cut.AddEdge(2, 1, 4);
  cut.AddEdge(1, 3, 12);
  cut.AddEdge(3, 2, 9);
  cut.AddEdge(2, 4, 14);
  cut.AddEdge(4, 3, 7);
  cut.AddEdge(3, 5, 20);
  cut.AddEdge(4, 5, 4);
  CHECK(cut.Capacity(0, 5) == 23);
  MinimumCut apart(3);
  apart.AddEdge(0, 1, 5);
  CHECK(apart.Capacity(0, 2) == 0);
}

TEST_CASE("MinimumCut: the source's side is what the cut leaves reachable from it") {
  MinimumCut cut(4);
  cut.AddEdge(0, 1, 5);
  cut.AddEdge(1, 2, 2, 7);
  cut.AddEdge(2, 3, 5);
  CHECK(cut.Capacity(0, 3) == 2);
  CHECK(cut.SourceSide() == std::vector<bool>{true, true, false, false});
}

TEST_CASE("MinimumCut: edges that are never cut add up to no more than one") {
  MinimumCut cut(4);
  for (const size_t middle : {1, 2}) {
    cut.AddEdge(0, middle, MinimumCut::kEndless);
    cut.AddEdge(middle, 3, MinimumCut::kEndless);
  }
  CHECK(cut.Capacity(0, 3) == MinimumCut::kEndless);
}

}  // namespace tenon::converter
