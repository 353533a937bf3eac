#include "converter/stage/build_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/stage/random_cut.hpp"
#include "tests/unit/converter/stage/run_pipeline.hpp"
#include "tests/unit/converter/stage/twin_case.hpp"

namespace tenon::converter {
namespace {

using Case = test::TwinCase;

PipelineProgram Built(const Graph& graph, const PipelineOptions& options) {
  auto program = BuildPipeline(graph, options);
  if (!program.ok()) FAIL(program.error().message);
  return std::move(*program);
}

std::vector<Arrays> RandomStream(const Graph& graph, size_t count) {
  std::vector<Arrays> stream;
  for (size_t i = 0; i < count; ++i) stream.push_back(test::RandomInputs(graph, 100 + i));
  return stream;
}

constexpr const char* kTwoBranches = R"(graph g
input %x: f32[1,8,16,16]
const %w1: f32[8,8,3,3] = random(1)
const %w2: f32[8,8,3,3] = random(2)
const %w3: f32[8,16,1,1] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]} "a"
%b = conv(%a, %w2) {pads=[1,1,1,1]} "b"
%c = concat(%a, %b) {axis=1} "c"
%d = conv(%c, %w3) "d"
%y = unary(%d) {function=relu} "y"
output %y
)";

/// Gives the twin a memory of its own, behind links of these bytes per second.
void GiveTwinMemory(Board& board, double bytes_per_second) {
  MemorySpace card;
  card.name = "card";
  card.bytes = board.memory_spaces.front().bytes;
  card.bandwidth_bytes_per_second = board.memory_spaces.front().bandwidth_bytes_per_second;
  board.memory_spaces.push_back(card);
  board.units.back().runs_from = "card";
  board.links = {{"", "ram", "card", bytes_per_second, 1000},
                 {"", "card", "ram", bytes_per_second, 1000}};
}

TEST_CASE("BuildPipeline: a device with memory of its own pays for what crosses its links") {
  const Graph graph = Parsed(kTwoBranches);
  const std::vector<int32_t> stages = {0, 0, 1, 1, 1};
  const std::vector<int32_t> units = {0, 1};  // CPU, twin
  Case shared;
  const auto without = BuildPipelineFromCut(graph, shared.options, stages, units);
  REQUIRE(without.ok());
  Case with;
  GiveTwinMemory(with.board, 1e6);
  const auto far = BuildPipelineFromCut(graph, with.options, stages, units);
  REQUIRE(far.ok());
  // It fetches %a and %b and brings back %y, 8 KiB each, at 1 MB/s; each way begins 1 us later.
  constexpr Picoseconds kPerMicrosecond = 1'000'000;
  const Picoseconds more = far->report.stages[1].time - without->report.stages[1].time;
  CHECK(more == (3 * 8192 + 2) * kPerMicrosecond);
  CHECK(far->report.stages[0].time == without->report.stages[0].time);
}

TEST_CASE("BuildPipeline: a unit of another memory without links to it is refused") {
  Case with;
  GiveTwinMemory(with.board, 1e9);
  with.board.links.pop_back();
  const auto program = BuildPipeline(Parsed(kTwoBranches), with.options);
  REQUIRE(!program.ok());
  CHECK(program.error().message.find("'twin' runs from another memory") != std::string::npos);
}

TEST_CASE("BuildPipeline: with the table kept every op has its backend of the best priority") {
  Case with;
  with.options.parallel.keep_table = true;
  with.board.priorities = {{"twin", "conv", 1}, {"cpu", "*", 2}};
  const PipelineProgram program = Built(Parsed(kTwoBranches), with.options);
  for (const OpId id : program.staged.graph.OpOrder()) {
    const Op& op = program.staged.graph.op(id);
    CHECK(op.backend == (op.kind == OpKind::kConv ? "twin" : "cpu"));
  }
  CHECK(program.report.best_alone == "cpu");  // the table lists no other unit for all
}

TEST_CASE("BuildPipeline: units of equal rates share the work, and the stream takes the bound") {
  Case with;
  const PipelineProgram program = Built(Parsed(kTwoBranches), with.options);
  const PipelineReport& report = program.report;
  REQUIRE(report.stages.size() >= 2);
  CHECK(report.exact);
  CHECK(report.period <= report.bound + report.bound / 100);
  CHECK(report.period < report.latency);
  CHECK(program.worker_names.size() == report.stages.size());
  for (size_t s = 1; s < report.stages.size(); ++s) {
    CHECK(report.stages[s].unit != report.stages[s - 1].unit);
  }
}

TEST_CASE("BuildPipeline: memory is the stages' own arenas and depth times each ring's slot") {
  Case with;
  for (const int32_t depth : {1, 2, 5}) {
    with.options.parallel.channel_depth = depth;
    const PipelineProgram program = Built(Parsed(kTwoBranches), with.options);
    int64_t bytes = 0;
    for (const auto& stage : program.report.stages) bytes += stage.arena_bytes;
    REQUIRE(!program.report.channels.empty());
    for (const auto& channel : program.report.channels) {
      CHECK(channel.depth == depth);
      bytes += depth * channel.slot_bytes;
    }
    CHECK(program.report.memory_bytes == bytes);
  }
}

TEST_CASE("BuildPipeline: what a ring carries is what crosses") {
  Case with;
  with.options.parallel.channel_depth = 2;
  const Graph graph = Parsed(kTwoBranches);
  std::vector<int32_t> stage_of_op = {0, 1, 1, 1, 1};
  const auto program = BuildPipelineFromCut(graph, with.options, stage_of_op, {0, 1});
  REQUIRE(program.ok());
  REQUIRE(program->report.channels.size() == 1);
  CHECK(program->report.channels[0].slot_bytes == 8 * 16 * 16 * 4);  // %a
}

TEST_CASE("BuildPipeline: what a stage copies from another runs on its own backend") {
  Case with;
  const Graph graph = Parsed(kTwoBranches);
  for (const std::vector<int32_t>& units : {std::vector<int32_t>{0, 1}, {1, 0}}) {
    const auto program = BuildPipelineFromCut(graph, with.options, {0, 1, 1, 1, 1}, units);
    REQUIRE(program.ok());
    size_t copies = 0;
    for (const OpId id : program->staged.steps) {
      const Op& op = program->staged.graph.op(id);
      const int32_t stage = program->staged.stage_of_op[static_cast<size_t>(id)];
      const int32_t unit = units[static_cast<size_t>(stage)];
      CHECK(op.backend == with.board.units[static_cast<size_t>(unit)].backend);
      copies += op.kind == OpKind::kCopy ? 1 : 0;
    }
    CHECK(copies > 1);  // of %a into the concatenation, and of the layout
  }
}

TEST_CASE("BuildPipeline: a pinned op keeps its backend") {
  Case with;
  with.options.kernels.pins = {{"b", "cpu"}, {"d", "twin"}};
  const PipelineProgram program = Built(Parsed(kTwoBranches), with.options);
  for (const OpId id : program.staged.steps) {
    const Op& op = program.staged.graph.op(id);
    if (op.name == "b") CHECK(op.backend == "cpu");
    if (op.name == "d") CHECK(op.backend == "twin");
  }
}

TEST_CASE("BuildPipeline: cores of one CPU are stages too") {
  Case with;
  with.board.units.resize(1);
  with.board.units[0].threads = 4;
  with.board.priorities.resize(0);
  with.board.priorities = {{"cpu", "*", 1}};
  with.options.parallel.threads = 3;
  const Graph graph = Parsed(kTwoBranches);
  CHECK(Built(graph, with.options).report.stages.size() >= 2);
  with.options.parallel.threads = 1;
  CHECK(Built(graph, with.options).report.stages.size() == 1);
}

TEST_CASE("BuildPipeline: a mapping that changes too often for its stages is refused") {
  Case with;
  with.options.parallel.most_stages = 2;
  with.options.kernels.pins = {{"a", "cpu"}, {"b", "twin"}, {"d", "cpu"}};
  const auto program = BuildPipeline(Parsed(kTwoBranches), with.options);
  REQUIRE_FALSE(program.ok());
  CHECK(program.error().kind == ErrorKind::kUsage);
}

TEST_CASE("BuildPipeline: random graphs, cut at random, give the same bits as in one stage") {
  Case with;
  size_t with_channels = 0;
  size_t skipping = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Graph graph = test::RandomGraph(seed);
    std::vector<PassReport> reports;
    REQUIRE(Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().empty()) continue;
    const RandomCut cut = MakeRandomCut(graph, seed);
    const std::vector<int32_t> together(cut.stage_of_op.size(), 0);
    with.options.parallel.channel_depth = 0;
    const auto whole = BuildPipelineFromCut(graph, with.options, together, {0});
    with.options.parallel.channel_depth = static_cast<int32_t>(seed % 4);
    const auto staged =
        BuildPipelineFromCut(graph, with.options, cut.stage_of_op, cut.unit_of_stage);
    if (!whole.ok()) FAIL(whole.error().message);
    if (!staged.ok()) FAIL(staged.error().message);
    const std::vector<Arrays> stream = RandomStream(graph, 5);
    std::string error;
    const auto expected = PipelineRunner(*whole).Run(stream, 1, error);
    const auto got = PipelineRunner(*staged).Run(stream, seed, error);
    REQUIRE(error == "");
    for (size_t i = 0; i < stream.size(); ++i) CHECK(got[i] == expected[i]);
    with_channels += staged->arenas.channels.empty() ? 0 : 1;
    for (const PlannedChannel& channel : staged->arenas.channels) {
      skipping += channel.to - channel.from > 1 ? 1 : 0;
    }
  }
  CHECK(with_channels > 100);
  CHECK(skipping > 20);
}

// %a is large, cheaply made of %s, and read early and late; between lies what is larger still.
constexpr const char* kReadLate = R"(graph g
input %x: f32[1,4,16,16]
const %up: f32[64,4,1,1] = random(1)
const %down: f32[4,64,1,1] = random(2)
const %wide: f32[160,4,1,1] = random(3)
const %narrow: f32[4,160,1,1] = random(4)
%s = unary(%x) {function=relu} "s"
%a = conv(%s, %up) "a"
%p = conv(%a, %down) "p"
%m = conv(%p, %wide) "m"
%q = conv(%m, %narrow) "q"
%u = conv(%q, %up) "u"
%y = binary(%u, %a) {function=add} "y"
%z = conv(%y, %down) "z"
output %z
)";

/// kReadLate cut before "a", over two units, under a limit.
struct ReadLate : Case {
  Graph graph = Parsed(kReadLate);

  ReadLate() { options.parallel.channel_depth = 1; }
  PipelineProgram Under(int64_t limit) {
    options.memory_limit = limit;
    auto program = BuildPipelineFromCut(graph, options, {0, 1, 1, 1, 1, 1, 1, 1}, {0, 1});
    if (!program.ok()) FAIL(program.error().message);
    return std::move(*program);
  }
};

TEST_CASE("BuildPipeline: stages run ops again to keep to a limit, and give the same bits") {
  ReadLate with;
  const PipelineProgram whole = with.Under(0);
  CHECK(whole.report.stages[1].repeated == 0);
  const PipelineProgram limited = with.Under(whole.report.memory_bytes * 8 / 10);
  CHECK(limited.report.memory_bytes <= with.options.memory_limit);
  CHECK(limited.report.stages[0].repeated == 0);
  CHECK(limited.report.stages[1].repeated == 1);
  CHECK(limited.report.stages[1].time > whole.report.stages[1].time);
  const std::vector<Arrays> stream = RandomStream(with.graph, 5);
  std::string error;
  const auto expected = PipelineRunner(whole).Run(stream, 1, error);
  const auto got = PipelineRunner(limited).Run(stream, 2, error);
  REQUIRE(error == "");
  for (size_t i = 0; i < stream.size(); ++i) CHECK(got[i] == expected[i]);
}

TEST_CASE("BuildPipeline: what no stage can bring under a limit stays as it is") {
  ReadLate with;
  const PipelineProgram whole = with.Under(0);
  const PipelineProgram limited = with.Under(whole.report.memory_bytes / 3);
  CHECK(limited.report.memory_bytes == whole.report.memory_bytes);
  CHECK(limited.report.stages[1].repeated == 0);
}

TEST_CASE("BuildPipeline: random graphs under limits keep to them or stay; the bits are the same") {
  int kept = 0;
  for (uint64_t seed = 1; seed <= 800; ++seed) {
    CAPTURE(seed);
    Case with;
    with.options.parallel.channel_depth = 1;
    Graph graph = test::RandomGraph(seed);
    std::vector<PassReport> reports;
    REQUIRE(Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().size() < 3) continue;
    const RandomCut cut = MakeRandomCut(graph, seed);
    const auto whole =
        BuildPipelineFromCut(graph, with.options, cut.stage_of_op, cut.unit_of_stage);
    if (!whole.ok()) FAIL(whole.error().message);
    with.options.memory_limit = whole->report.memory_bytes * 19 / 20;
    if (with.options.memory_limit == 0) continue;
    const auto limited =
        BuildPipelineFromCut(graph, with.options, cut.stage_of_op, cut.unit_of_stage);
    if (!limited.ok()) FAIL(limited.error().message);
    if (limited->report.memory_bytes > with.options.memory_limit) {
      CHECK(limited->report.memory_bytes == whole->report.memory_bytes);
      continue;
    }
    ++kept;
    const std::vector<Arrays> stream = RandomStream(graph, 4);
    std::string error;
    const auto expected = PipelineRunner(*whole).Run(stream, 1, error);
    const auto got = PipelineRunner(*limited).Run(stream, seed, error);
    REQUIRE(error == "");
    for (size_t i = 0; i < stream.size(); ++i) CHECK(got[i] == expected[i]);
  }
  CHECK(kept > 2);
}

TEST_CASE(
    "BuildPipeline: is cut again by what its stages took, and keeps the best that was built") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Case with;
    Graph graph = test::RandomGraph(seed);
    std::vector<PassReport> reports;
    REQUIRE(Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().size() < 4) continue;
    with.options.least_stages = 2;
    with.options.parallel.balance = false;
    const PipelineReport once = Built(graph, with.options).report;
    CHECK(once.rounds.size() == 1);
    with.options.parallel.balance = true;
    const PipelineReport balanced = Built(graph, with.options).report;
    REQUIRE(balanced.kept_round < balanced.rounds.size());
    CHECK(balanced.period == balanced.rounds[balanced.kept_round].period);
    CHECK(balanced.balance == balanced.rounds[balanced.kept_round].rate);
    for (const BalanceRound& round : balanced.rounds) CHECK(balanced.period <= round.period);
  }
}

}  // namespace
}  // namespace tenon::converter
