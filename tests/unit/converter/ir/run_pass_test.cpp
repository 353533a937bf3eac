#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kText = "input %x: f32[2]\n%y = unary(%x) {function=relu}\noutput %y\n";

TEST_CASE("RunPass: adds the pass's report under its name") {
  const Pass pass = {"count", [](Graph&, PassReport& report) {
                       report.changed = 3;
                       return Status();
                     }};
  Graph graph = ParsedForTest(kText);
  std::vector<PassReport> reports;
  REQUIRE(RunPass(pass, graph, reports).ok());
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].name == "count");
  CHECK(reports[0].changed == 3);
}

TEST_CASE("RunPass: a pass that breaks the graph is an error that names the pass") {
  const Pass pass = {"break", [](Graph& graph, PassReport&) {
                       graph.MutableTensor(graph.FindTensor("y")).shape = Shape({3});
                       return Status();
                     }};
  Graph graph = ParsedForTest(kText);
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, reports);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("pass break: graph is broken") == 0);
}

TEST_CASE("RunPass: the pass's own error keeps its kind") {
  const Pass pass = {"refuse", [](Graph&, PassReport&) { return Status(InputError("no")); }};
  Graph graph = ParsedForTest(kText);
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, reports);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::kInput);
  CHECK(status.error().message == "pass refuse: no");
}

}  // namespace
}  // namespace tenon::converter
