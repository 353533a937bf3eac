#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kText = "input %x: f32[2]\n%y = unary(%x) {function=relu}\noutput %y\n";

TEST_CASE("RunPass: adds the pass's report under its name") {
  const Pass pass = {"count", [](Graph&, PassContext& context) {
                       context.report.changed = 3;
                       return Status();
                     }};
  Graph graph = Parsed(kText);
  PassContext context;
  std::vector<PassReport> reports;
  REQUIRE(RunPass(pass, graph, context, reports).ok());
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].name == "count");
  CHECK(reports[0].changed == 3);
}

TEST_CASE("RunPass: a pass that breaks the graph is an error that names the pass") {
  const Pass pass = {"break", [](Graph& graph, PassContext&) {
                       graph.MutableTensor(graph.FindTensor("y")).shape = Shape({3});
                       return Status();
                     }};
  Graph graph = Parsed(kText);
  PassContext context;
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, context, reports);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("pass break: graph is broken") == 0);
}

TEST_CASE("RunPass: the pass's own error keeps its kind") {
  const Pass pass = {"refuse", [](Graph&, PassContext&) { return Status(InputError("no")); }};
  Graph graph = Parsed(kText);
  PassContext context;
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, context, reports);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::kInput);
  CHECK(status.error().message == "pass refuse: no");
}

TEST_CASE("RunPass: an error of usage names no pass, because the user's words caused it") {
  const Pass pass = {"refuse", [](Graph&, PassContext&) { return Status(UsageError("no")); }};
  Graph graph = Parsed(kText);
  PassContext context;
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, context, reports);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message == "no");
}

}  // namespace
}  // namespace tenon::converter
