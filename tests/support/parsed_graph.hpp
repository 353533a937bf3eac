// Graphs from text, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

#include "converter/ir/text.hpp"

namespace tenon::converter {

/// The graph that the text describes; ends the test case where it describes none.
inline Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

}  // namespace tenon::converter
