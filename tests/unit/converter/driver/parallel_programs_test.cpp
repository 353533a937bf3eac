#include "converter/driver/parallel_programs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "converter/driver/pipeline.hpp"
#include "converter/driver/refusal.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/parsed_graph.hpp"
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

TEST_CASE("ConvertGraph: a limit that works without the mode asked for is called that") {
  ConvertOptions options = test::OptionsFor();
  options.parallel.mode = ParallelMode::kReplicas;
  options.parallel.threads = 2;
  const std::string space = options.board.ArenaSpace()->name;
  const auto limited = [&](int64_t bytes) {
    options.board.FindSpace(space)->bytes = bytes + options.board.FindSpace(space)->reserve_bytes;
    return ConvertGraph(Parsed(kBranches), options);
  };
  const Result<Conversion> refused = limited(1000);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  const std::vector<std::string>& details = refused.error().details;
  CHECK(std::any_of(details.begin(), details.end(), [&](const std::string& line) {
    return line.starts_with("without --parallel=replicas the smallest limit that works is --mem");
  }));
  const int64_t offered = OfferedLimit(refused.error(), space);
  const Result<Conversion> twice = limited(offered);
  REQUIRE_FALSE(twice.ok());
  CHECK(twice.error().kind == ErrorKind::kDoesNotFit);
  options.parallel.mode = ParallelMode::kAuto;
  CHECK(limited(offered).ok());
}

/// A batch of 8 through a product and a softmax: each row by itself.
constexpr const char* kBatch = R"(graph g
input %x: f32[8,64]
const %w: f32[64,32] = random(1)
%p = matmul(%x, %w) "product"
%y = softmax(%p) {axis=1} "softmax"
output %y
)";

/// The same batch, of which the mean over all rows is taken away.
constexpr const char* kWholeBatch = R"(graph g
input %x: f32[8,64]
%m = reduce(%x) {function=mean, axes_mask=1, keep_dims=1} "mean"
%y = binary(%x, %m) {function=sub} "centred"
output %y
)";

ConvertOptions OnSlowThreads(int threads) {
  ConvertOptions options = test::OptionsFor();
  options.board.units[0].multiply_accumulates_per_second = {{"f32", 1e6}};
  options.board.units[0].elementary_ops_per_second = 1e6;
  options.parallel.threads = threads;
  return options;
}

const ParallelCandidate* Find(const Conversion& conversion, ParallelMode mode) {
  for (const ParallelCandidate& candidate : conversion.parallel.choice.candidates) {
    if (candidate.mode == mode) return &candidate;
  }
  return nullptr;
}

TEST_CASE("ConvertGraph: a batch whose rows are apart is divided among replicas") {
  ConvertOptions options = OnSlowThreads(3);
  options.parallel.mode = ParallelMode::kReplicas;
  const Conversion conversion = Converted(options, kBatch);
  CHECK(ProgramsOf(conversion) == Names{"sequential", "shards"});
  CHECK(conversion.parallel.rows_per_call == 8);
  CHECK(conversion.parallel.shard_rows == 3);
  CHECK(OptionOf(conversion, "shard_rows") == "3");
  const test::PlanBytes bytes(conversion.plan);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(plan.ok());
  const ProgramView shards = plan->program(1);
  CHECK(shards.mode() == static_cast<uint8_t>(tenon::ProgramMode::kReplicas));
  CHECK(shards.tensor(shards.input(0).tensor).dims[0] == 3);
  // Three rows of eight take longer than a third of the time, and less than half.
  const Picoseconds whole = conversion.time.after;
  const Picoseconds divided = Find(conversion, ParallelMode::kReplicas)->latency;
  CHECK(divided * 3 > whole);
  CHECK(divided * 2 < whole);
}

TEST_CASE(
    "ConvertGraph: a batch that an op needs whole is left to threads between and inside ops") {
  ConvertOptions options = OnSlowThreads(4);
  const Conversion conversion = Converted(options, kWholeBatch);
  CHECK(conversion.parallel.why_whole_batch == "'mean' (reduce) needs the whole batch at once");
  for (const ParallelCandidate& candidate : conversion.parallel.choice.candidates) {
    if (!RunsReplicas(candidate.mode)) continue;
    CHECK(candidate.why_not == conversion.parallel.why_whole_batch);
  }
  CHECK_FALSE(RunsReplicas(conversion.parallel.choice.mode));
  options.parallel.mode = ParallelMode::kReplicas;
  const auto refused = ConvertGraph(Parsed(kWholeBatch), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("'mean' (reduce)") != std::string::npos);
}

TEST_CASE("ConvertGraph: a stream of whole batches takes replicas whatever ops need of a batch") {
  ConvertOptions options = OnSlowThreads(2);
  options.compile.objective = Objective::kThroughput;
  const Conversion conversion = Converted(options, kWholeBatch);
  CHECK(Find(conversion, ParallelMode::kReplicas)->why_not.empty());
  CHECK(Find(conversion, ParallelMode::kReplicas)->shard_rows == 0);
  CHECK(conversion.parallel.shard_rows == 0);
}

TEST_CASE("ConvertGraph: rows of a call to a model of one row are dealt to replicas") {
  ConvertOptions options = OnSlowThreads(2);
  options.parallel.rows_per_call = 7;
  const Conversion conversion = Converted(options);
  const ParallelCandidate* replicas = Find(conversion, ParallelMode::kReplicas);
  REQUIRE(replicas != nullptr);
  CHECK(replicas->shard_rows == 1);
  CHECK(replicas->latency > 4 * conversion.time.after * 99 / 100);
  CHECK(replicas->latency < 4 * conversion.time.after * 101 / 100);
  CHECK(ProgramsOf(conversion)[0] == "sequential");
}

TEST_CASE("ConvertGraph: another number of rows than the model's own batch is refused") {
  ConvertOptions options = OnSlowThreads(2);
  options.parallel.rows_per_call = 7;
  const auto refused = ConvertGraph(Parsed(kBatch), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kUsage);
  CHECK(refused.error().message.find("a batch of 8 rows") != std::string::npos);
}

TEST_CASE("ConvertGraph: every division of the threads is a candidate with its time") {
  ConvertOptions options = OnSlowThreads(4);
  const Conversion conversion = Converted(options, kBatch);
  for (const ParallelMode mode :
       {ParallelMode::kIntra, ParallelMode::kReplicas, ParallelMode::kReplicasIntra}) {
    const ParallelCandidate* candidate = Find(conversion, mode);
    REQUIRE(candidate != nullptr);
    CHECK(candidate->why_not.empty());
    CHECK(candidate->latency > 0);
  }
  const ParallelCandidate* both = Find(conversion, ParallelMode::kReplicasIntra);
  CHECK(both->replicas == 2);
  CHECK(both->threads_per_op == 2);
  CHECK(both->shard_rows == 4);
  CHECK(Find(conversion, ParallelMode::kReplicasInter) != nullptr);
  CHECK(Find(conversion, ParallelMode::kReplicasInterIntra) != nullptr);
  CHECK(Find(conversion, ParallelMode::kInterIntra) != nullptr);
}

TEST_CASE("ConvertGraph: where memory is the limit for all threads, replicas bring nothing") {
  ConvertOptions options = test::OptionsFor();
  options.parallel.threads = 2;
  Unit& processor = options.board.units[0];
  processor.cache_bytes_per_thread = 0;
  processor.shared_cache_bytes = 0;
  MemorySpace& ram = options.board.memory_spaces[0];
  ram.bandwidth_bytes_per_second = 1e6;
  const auto replicas = [&] {
    const Conversion conversion = Converted(options, kBatch);
    return Find(conversion, ParallelMode::kReplicas)->latency;
  };
  const Picoseconds apart = replicas();
  ram.total_bandwidth_bytes_per_second = 1e6;
  CHECK(replicas() > apart * 3 / 2);
}

TEST_CASE("ConvertGraph: a pipeline of one unit is refused") {
  ConvertOptions options = test::OptionsFor();
  options.parallel.mode = ParallelMode::kPipeline;
  const auto refused = ConvertGraph(Parsed(kBranches), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kUsage);
}

TEST_CASE(
    "ConvertGraph: replicas and pipelines of a model with state are refused with the reason") {
  constexpr const char* kSums =
      "graph sums\ninput %x: f32[4]\ninput %s: f32[4]\n%n = binary(%x, %s)\n"
      "output %n as \"next\"\noutput %x as \"y\"\nstate \"s\" = \"next\"\n";
  for (const ParallelMode mode : {ParallelMode::kReplicas, ParallelMode::kPipeline}) {
    ConvertOptions options = OnTwin();
    options.parallel.threads = 4;
    options.parallel.mode = mode;
    const auto refused = ConvertGraph(Parsed(kSums), options);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("keeps state") != std::string::npos);
  }
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
