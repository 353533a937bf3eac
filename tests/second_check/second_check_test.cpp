// Two checks of plans that share no code, on plans that are changed at random: what the first
// refuses for bounds, alignment, order or overlap, the second never accepts; and what the first
// accepts, the second does not refuse, unless it is too large for it.
// TENON_MUTATIONS: how many changed plans; without it, some thousands.
#include "tests/second_check/second_check.h"

#include <cstdlib>
#include <string_view>

#include "converter/driver/pipeline.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "tests/fuzz/plan_attempt_models.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/stage/random_cut.hpp"
#include "tests/unit/converter/stage/slow_memory.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

using Bytes = std::vector<uint8_t>;

/// What the second check does not look at: kinds of ops, kernels' names, what devices exchange,
/// code, sources of groups, scales, whether conditions are bools and who reads what is passed over;
/// and the bounds on the first one's own time.
constexpr std::string_view kOutsideItsClasses[] = {"check sum is wrong",
                                                   "kind or number of attributes",
                                                   "kernel of another backend",
                                                   "fall-back kernel",
                                                   "its source",
                                                   "port has a scale",
                                                   "too many strided parts",
                                                   "too many references",
                                                   "of which only the first waits",
                                                   "which nobody writes for it",
                                                   "which it does not take over",
                                                   "does not hand it over",
                                                   "hands tensor",
                                                   "two devices",
                                                   "its condition",
                                                   "condition of what writes it",
                                                   "has a condition",
                                                   "its code",
                                                   "has code",
                                                   "base register",
                                                   "uuid",
                                                   "wait for each other",
                                                   "which such an op reads again"};

bool IsInItsClasses(const std::string& words) {
  for (const std::string_view outside : kOutsideItsClasses) {
    if (words.find(outside) != std::string::npos) return false;
  }
  return true;
}

/// What the first check finds: all of it, and the first that the second must find too.
struct FirstAnswer {
  bool passes = true;
  std::string to_be_found;
};

bool Note(void* context, const Status& violation) {
  auto& answer = *static_cast<FirstAnswer*>(context);
  char text[256];
  violation.Format(Span<char>(text, sizeof text));
  answer.passes = false;
  if (answer.to_be_found.empty() && IsInItsClasses(text)) answer.to_be_found = text;
  return answer.to_be_found.empty();
}

FirstAnswer AskFirst(const Bytes& file) {
  FirstAnswer answer;
  const ViolationSink sink{Note, &answer};
  const Result<PlanView> view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  if (!view.ok()) {
    Note(&answer, view.status());
    return answer;
  }
  std::vector<uint8_t> scratch(PlanCheckScratchBytes(*view));
  answer.passes =
      CheckPlan(*view, Span<uint8_t>(scratch.data(), scratch.size()), sink).ok() && answer.passes;
  return answer;
}

second_answer AskSecond(const Bytes& file) {
  second_answer answer{};
  second_check(file.data(), file.size(), &answer);
  return answer;
}

PlanSpec Convert(const char* text) {
  auto graph = converter::ParseGraph(text);
  REQUIRE(graph.ok());
  auto conversion = converter::ConvertGraph(std::move(*graph), OptionsFor());
  REQUIRE(conversion.ok());
  return ReadSpec(conversion->plan);
}

/// Two ops that start together, and one that waits for them.
PlanSpec Together() {
  PlanSpec spec = ForkAndJoin();
  spec.workers = {{{0, {}}, {1, {}}, {2, {}}}};
  spec.groups = {{{0, 1}}};
  return spec;
}

/// in, kept -> sum, out; `kept` is what `sum` was.
PlanSpec Stateful() {
  PlanSpec spec;
  for (uint64_t i = 0; i < 4; ++i) spec.AddBuffer(i * 64, 16);
  spec.AddOp({0, 1}, {2});
  spec.AddOp({2}, {3});
  spec.AddInput(0);
  spec.AddOutput(3);
  spec.states = {{1, 2, -1}};
  return spec;
}

PlanSpec SharedWorkspace() {
  PlanSpec spec = WithFallback();
  const uint32_t storage = spec.AddStorage(320, 64);
  for (const size_t op : {1, 2}) {
    spec.ops[op].fallback_workspace =
        static_cast<int32_t>(spec.AddTensor(storage, {64}, 0, {}, DType::kU8));
  }
  return spec;
}

std::vector<PlanSpec> Originals() {
  std::vector<PlanSpec> specs = {
      Chain(),           ForkAndJoin(),    Columns(),       InPlace(),     WithConstant(),
      WithDevice(),      WithFallback(),   Pipeline(),      Together(),    Stateful(),
      SharedWorkspace(), HelpedPipeline(), HelperHandsOn(), Following(16), Branch()};
  for (const char* text : {kConvNet, kMatMulNet, kMovingNet, kQuantizedNet, kStateNet}) {
    specs.push_back(Convert(text));
  }
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto conversion = converter::ConvertGraph(RandomGraph(seed), OptionsFor());
    REQUIRE(conversion.ok());
    specs.push_back(ReadSpec(conversion->plan));
  }
  return specs;
}

/// Changes a byte or a word of the FlatBuffer, and mends the check sum.
void ChangeBytes(Bytes& file, std::mt19937& random) {
  constexpr uint32_t kEdges[] = {0, 1, 2, 3, 4, 8, 16, 64, 255, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF};
  const size_t header = HeaderPosition(file);
  const size_t bytes = HeaderOf(file)->bytes();
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    const size_t at = random() % bytes / 4 * 4;
    uint32_t word = 0;
    std::memcpy(&word, file.data() + at, 4);
    switch (random() % 4) {
      case 0:
        word ^= uint32_t{1} << random() % 32;
        break;
      case 1:
        word = kEdges[random() % std::size(kEdges)];
        break;
      case 2:
        word += static_cast<uint32_t>(random() % 33) - 16;
        break;
      default:
        std::memcpy(&word, file.data() + random() % bytes / 4 * 4, 4);
        break;
    }
    std::memcpy(file.data() + at, &word, 4);
  }
  SealAt(file, header);
}

Bytes Changed(const PlanSpec& original, std::mt19937& random) {
  if (random() % 4 == 0) {
    Bytes file = original.Write();
    ChangeBytes(file, random);
    return file;
  }
  PlanSpec spec = original;
  for (size_t count = 1 + random() % 2; count > 0; --count) {
    const size_t which = random() % 4;
    if (which == 0) {
      MutateSchedule(spec, random);
    } else if (which == 1) {
      MutatePlacement(spec, random);
    } else {
      MutateAnything(spec, random);
    }
  }
  return spec.Write();
}

long Wanted() {
  const char* text = std::getenv("TENON_MUTATIONS");
  return text == nullptr ? 6000 : std::atol(text);
}

}  // namespace

TEST_CASE("Second check: plans that are sound pass both checks") {
  for (const PlanSpec& spec : Originals()) {
    const Bytes file = spec.Write();
    CHECK(AskFirst(file).passes);
    const second_answer answer = AskSecond(file);
    CHECK_MESSAGE(answer.found == SECOND_PASSED, answer.reason);
  }
}

TEST_CASE("Second check: each class of violation is called by its name") {
  PlanSpec spec = Chain();
  spec.storages[2].offset = 1 << 20;
  CHECK(AskSecond(spec.Write()).found == SECOND_BOUNDS);
  spec = Chain();
  spec.storages[2].offset = 130;
  CHECK(AskSecond(spec.Write()).found == SECOND_ALIGNMENT);
  spec = Chain();
  std::swap(spec.workers[0][0], spec.workers[0][1]);
  CHECK(AskSecond(spec.Write()).found == SECOND_ORDER);
  spec = ForkAndJoin();
  spec.workers[0][1].waits.clear();
  CHECK(AskSecond(spec.Write()).found == SECOND_ORDER);
  spec = Chain();
  spec.storages[1].offset = 32;
  CHECK(AskSecond(spec.Write()).found == SECOND_OVERLAP);
  CHECK(AskSecond(Following(15).Write()).found == SECOND_OVERLAP);
  Bytes file = Chain().Write();
  file.resize(file.size() / 2);
  CHECK(AskSecond(file).found == SECOND_STRUCTURE);
}

TEST_CASE("Second check: each wait between the workers of a stage is needed") {
  for (const auto& [worker, step] : {std::pair<size_t, size_t>{1, 0}, {1, 1}, {3, 1}}) {
    PlanSpec spec = HelpedPipeline();
    spec.workers[worker][step].waits.clear();
    CHECK_FALSE(AskFirst(spec.Write()).passes);
    CHECK(AskSecond(spec.Write()).found == (worker == 1 ? SECOND_ORDER : SECOND_OVERLAP));
  }
}

TEST_CASE("Second check: no op of a pipeline that waits for copies can do without") {
  converter::Board board = TwinBoard();
  StageConstants(board);
  converter::PipelineOptions options;
  options.kernels.board = &board;
  options.kernels.backends = CpuAndTwin();
  options.kernels.portable_only = true;
  size_t waits = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    converter::Graph graph = RandomGraph(seed);
    std::vector<converter::PassReport> reports;
    REQUIRE(converter::Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().empty()) continue;
    converter::RandomCut cut = converter::MakeRandomCut(graph, seed);
    for (int32_t& unit : cut.unit_of_stage) unit = 0;
    const auto program = BuildPipelineFromCut(graph, options, cut.stage_of_op, cut.unit_of_stage);
    REQUIRE(program.ok());
    const auto plan = converter::EmitPlan({program->ToEmit()}, converter::EmitOptions());
    REQUIRE(plan.ok());
    const PlanSpec spec = ReadSpec(*plan);
    CHECK(AskFirst(spec.Write()).passes);
    CHECK(AskSecond(spec.Write()).found == SECOND_PASSED);
    for (size_t worker = 0; worker < spec.stages.size(); ++worker) {
      for (size_t step = 0; step < spec.workers[worker].size(); ++step) {
        if (spec.workers[worker][step].waits.empty()) continue;
        PlanSpec without = spec;
        without.workers[worker][step].waits.clear();
        CHECK_FALSE(AskFirst(without.Write()).passes);
        CHECK(AskSecond(without.Write()).found == SECOND_ORDER);
        ++waits;
      }
    }
  }
  CHECK(waits > 30);
}

TEST_CASE("Second check: it never accepts what the first refuses, nor refuses what it accepts") {
  const std::vector<PlanSpec> originals = Originals();
  std::mt19937 random(21);
  const long wanted = Wanted();
  long refused = 0;
  long accepted = 0;
  long too_large = 0;
  for (long i = 0; i < wanted; ++i) {
    const Bytes file = Changed(originals[random() % originals.size()], random);
    const FirstAnswer first = AskFirst(file);
    const second_answer second = AskSecond(file);
    CAPTURE(i);
    CAPTURE(first.to_be_found);
    CAPTURE(second.reason);
    refused += first.to_be_found.empty() ? 0 : 1;
    accepted += first.passes ? 1 : 0;
    too_large += second.found == SECOND_TOO_LARGE ? 1 : 0;
    if (!first.to_be_found.empty()) CHECK(second.found != SECOND_PASSED);
    if (first.passes) CHECK((second.found == SECOND_PASSED || second.found == SECOND_TOO_LARGE));
  }
  MESSAGE(wanted << " changed plans: the first check refuses " << refused
                 << " in the second's classes and accepts " << accepted << "; " << too_large
                 << " are too large for the second");
  CHECK(refused > wanted / 4);
  CHECK(accepted > wanted / 50);
  CHECK(too_large < wanted / 20);
}

}  // namespace tenon::test
