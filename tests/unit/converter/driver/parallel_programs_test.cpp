#include "converter/driver/parallel_programs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::converter {
namespace {

/// Two branches of one convolution each, heavy enough to be worth a thread.
constexpr const char* kBranches = R"(graph g
input %x: f32[1,16,32,32]
const %w1: f32[16,16,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[16,16,3,3] = random(3)
%s = conv(%x, %w1) {pads=[1,1,1,1]} "stem"
%a = conv(%s, %w2) {pads=[1,1,1,1]} "left"
%b = conv(%s, %w3) {pads=[1,1,1,1]} "right"
%y = concat(%a, %b) {axis=1} "join"
output %y
)";

Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

ConvertOptions OnTwin() {
  ConvertOptions options;
  options.board = test::TwinBoard();
  options.compile.kernels.backends = test::CpuAndTwin();
  return options;
}

Conversion Converted(const ConvertOptions& options, std::string_view text = kBranches) {
  auto conversion = ConvertGraph(Parsed(text), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

std::vector<std::string> ProgramsOf(const Conversion& conversion) {
  const test::PlanBytes bytes(conversion.plan);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(plan.ok());
  std::vector<std::string> names;
  for (size_t i = 0; i < plan->program_count(); ++i) names.emplace_back(plan->program(i).name());
  return names;
}

std::string OptionOf(const Conversion& conversion, std::string_view name) {
  const test::PlanBytes bytes(conversion.plan);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(plan.ok());
  for (size_t i = 0; i < plan->option_count(); ++i) {
    if (plan->option_name(i) == name) return plan->option_value(i);
  }
  return "";
}

using Names = std::vector<std::string>;

TEST_CASE("ConvertGraph: one input on one thread has nothing to choose") {
  const Conversion conversion = Converted(OnTwin());
  CHECK(ProgramsOf(conversion) == Names{"sequential"});
  CHECK(conversion.parallel.choice.candidates.empty());
  CHECK(OptionOf(conversion, "parallel").empty());
}

TEST_CASE("ConvertGraph: for a stream on two backends the plan carries a pipeline") {
  ConvertOptions options = OnTwin();
  options.compile.objective = Objective::kThroughput;
  const Conversion conversion = Converted(options);
  CHECK(ProgramsOf(conversion) == Names{"sequential", "pipeline"});
  CHECK(conversion.parallel.choice.mode == ParallelMode::kPipeline);
  CHECK(OptionOf(conversion, "parallel") == "pipeline");
  REQUIRE(conversion.parallel.pipeline.has_value());
  CHECK(conversion.parallel.pipeline->period < conversion.time.after);
}

TEST_CASE("ConvertGraph: independent ops go to threads where that is predicted to be faster") {
  ConvertOptions options = test::OptionsFor();
  // Waking a thread takes longer than such small ops: as if the CPU were slow.
  options.board.units[0].multiply_accumulates_per_second = {{"f32", 1e9}};
  options.parallel.mode = ParallelMode::kInter;
  options.parallel.threads = 2;
  const Conversion conversion = Converted(options);
  CHECK(ProgramsOf(conversion) == Names{"sequential", "inter"});
  CHECK(OptionOf(conversion, "parallel") == "inter");
  CHECK(*conversion.parallel.inter < conversion.time.after);
}

TEST_CASE("ConvertGraph: replicas are recorded with their number") {
  ConvertOptions options = test::OptionsFor();
  options.parallel.mode = ParallelMode::kReplicas;
  options.parallel.threads = 3;
  const Conversion conversion = Converted(options);
  CHECK(ProgramsOf(conversion) == Names{"sequential"});
  CHECK(OptionOf(conversion, "parallel") == "replicas");
  CHECK(OptionOf(conversion, "replicas") == "3");
}

TEST_CASE("ConvertGraph: a pipeline of one unit is refused") {
  ConvertOptions options = test::OptionsFor();
  options.parallel.mode = ParallelMode::kPipeline;
  const auto refused = ConvertGraph(Parsed(kBranches), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kUsage);
}

TEST_CASE("ConvertGraph: random graphs become pipelines that pass the plan check") {
  ConvertOptions options = OnTwin();
  for (Unit& unit : options.board.units) {  // so that ops of a few elements are worth a stage
    unit.multiply_accumulates_per_second = {{"f32", 1e6}};
    unit.elementary_ops_per_second = 1e6;
    unit.threads = 3;
  }
  options.parallel.threads = 3;
  options.parallel.mode = ParallelMode::kAuto;
  options.compile.objective = Objective::kThroughput;
  size_t pipelines = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto conversion = ConvertGraph(test::RandomGraph(seed), options);
    if (!conversion.ok()) FAIL(conversion.error().message);
    pipelines += conversion->parallel.pipeline.has_value() ? 1 : 0;
  }
  CHECK(pipelines > 30);
}

TEST_CASE("ConvertGraph: random graphs become programs between ops that pass the plan check") {
  ConvertOptions options = test::OptionsFor();
  options.board.units[0].multiply_accumulates_per_second = {{"f32", 1e6}};
  options.board.units[0].elementary_ops_per_second = 1e5;
  options.parallel.mode = ParallelMode::kInter;
  options.parallel.threads = 4;
  size_t several = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const auto conversion = ConvertGraph(test::RandomGraph(seed), options);
    if (!conversion.ok() && conversion.error().kind == ErrorKind::kUsage) continue;  // a chain
    if (!conversion.ok()) FAIL(conversion.error().message);
    CHECK(conversion->parallel.choice.mode == ParallelMode::kInter);
    ++several;
  }
  CHECK(several > 30);
}

}  // namespace
}  // namespace tenon::converter
