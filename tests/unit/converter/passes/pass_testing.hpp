// Runs one pass on text form.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "converter/ir/pass.hpp"
#include "converter/ir/text.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {

struct PassResult {
  std::string text;  ///< the graph after the pass, without its "graph" line
  PassReport report;
};

inline std::string PrintedForTest(const Graph& graph) {
  const std::string text = PrintGraph(graph);
  return text.substr(text.find('\n') + 1);
}

inline bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline void CheckHas(const std::string& text, std::initializer_list<const char*> lines) {
  for (const char* line : lines) {
    CAPTURE(line);
    CAPTURE(text);
    CHECK(Contains(text, line));
  }
}

/// The pass where every op has a fast kernel.
inline Pass OnFastKernels(const char* name, const PassFunction& run) {
  return {name, [run](Graph& graph, PassContext& context) {
            context.has_fast_kernel = [](const Graph&, const Op&) { return true; };
            return run(graph, context);
          }};
}

/// The pass's result; also checks that a second run finds nothing more to do.
inline PassResult RunOn(const Pass& pass, std::string_view text) {
  Graph graph = Parsed(text);
  PassContext context;
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, context, reports);
  if (!status.ok()) FAIL(status.error().message);
  PassResult result{PrintedForTest(graph), reports.front()};
  const Status again = RunPass(pass, graph, context, reports);
  if (!again.ok()) FAIL(again.error().message);
  CHECK_MESSAGE(reports.back().changed == 0, "a second run changed the graph");
  CHECK(PrintedForTest(graph) == result.text);
  return result;
}

/// Checks that the pass changes nothing and says so of `op`, with this reason.
inline void CheckDeclined(const Pass& pass, std::string_view text, std::string_view op,
                          std::string_view reason) {
  const std::string before = PrintedForTest(Parsed(text));
  const PassResult result = RunOn(pass, text);
  CHECK(result.text == before);
  CHECK(result.report.changed == 0);
  REQUIRE(result.report.declined.size() == 1);
  CHECK(result.report.declined[0].op == op);
  CHECK(result.report.declined[0].reason == reason);
}

}  // namespace tenon::converter
