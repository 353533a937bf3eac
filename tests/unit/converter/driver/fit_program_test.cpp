// Memory programs: ops that run again, and tensors that are moved away and back, give the same bits
// in less memory.
#include "converter/driver/fit_program.hpp"

#include <doctest/doctest.h>

#include <string>

#include "converter/driver/pipeline.hpp"
#include "converter/report/summary.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

/// %a, which is cheap to compute, is needed before and behind the bulky middle.
constexpr const char* kSkip = R"(input %x: f32[1,1,32,32]
const %w1: f32[8,1,1,1] = random(1)
const %w2: f32[4,8,3,3] = random(2)
const %w3: f32[24,4,3,3] = random(3)
const %w6: f32[24,24,3,3] = random(6)
const %w4: f32[1,24,3,3] = random(4)
const %w5: f32[1,8,3,3] = random(5)
%a = conv(%x, %w1)
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%c = conv(%b, %w3) {pads=[1,1,1,1]}
%m = conv(%c, %w6) {pads=[1,1,1,1]}
%d = conv(%m, %w4) {pads=[1,1,1,1]}
%e = binary(%a, %d)
%y = conv(%e, %w5) {pads=[1,1,1,1]}
output %y
)";

ConvertOptions OneCore(int64_t sram, int64_t psram = 0) {
  ConvertOptions options = test::OptionsFor("cortex-m55");
  Board& board = options.board;
  board.units[0].kernel_set.clear();
  board.FindSpace("sram")->bytes = sram;
  MemorySpace& second = *board.FindSpace("dtcm");
  second.bytes = psram;
  second.reserve_bytes = 0;
  second.direct = psram > 0;
  second.bandwidth_bytes_per_second = 2e7;
  board.links.clear();
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 20'000;
  options.compile.program.solve.most_nodes = 10;
  options.split.work_budget = 200'000;
  options.split.allowed = false;
  return options;
}

/// Returns a limit that is refused without a memory program, though hardly.
int64_t RefusedWithout(const Graph& graph, int64_t whole) {
  for (int64_t limit = whole; limit > 0; limit -= 1024) {
    ConvertOptions options = OneCore(limit);
    options.split.program = false;
    const auto conversion = ConvertGraph(graph, options);
    if (conversion.ok()) continue;
    CHECK(conversion.error().kind == ErrorKind::kDoesNotFit);
    return limit;
  }
  return 0;
}

TEST_CASE("Program: where nothing else helps a cheap op runs again, with the same bits") {
  const Graph graph = Parsed(kSkip);
  const Conversion whole = Converted(graph, OneCore(kMuch));
  CHECK_FALSE(whole.program.used);
  const int64_t limit = RefusedWithout(graph, whole.memory.arena_bytes);
  REQUIRE(limit > 0);
  const Conversion program = Converted(graph, OneCore(limit));
  CHECK(program.memory.arena_bytes <= limit);
  CHECK(program.program.used);
  CHECK(program.program.repeated == 1);
  CHECK(program.program.moves == 0);
  CHECK(program.ops_executed == whole.ops_executed + 1);
  CHECK(program.time.after > whole.time.after);
  CHECK(program.program.bound <= program.program.time);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(program, inputs) == Outputs(whole, inputs));
}

TEST_CASE("Program: forced, it is taken where splitting would be faster, or refused in words") {
  const Graph graph = Parsed(kSkip);
  const Conversion whole = Converted(graph, OneCore(kMuch));
  ConvertOptions options = OneCore(RefusedWithout(graph, whole.memory.arena_bytes));
  options.split.allowed = true;
  const Conversion fastest = Converted(graph, options);
  options.split.force_program = true;
  const Conversion forced = Converted(graph, options);
  CHECK(forced.program.used);
  CHECK(fastest.time.after <= forced.time.after);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(forced, inputs) == Outputs(whole, inputs));
  // A chain has nothing to run again; patches do.
  const Graph chain = Parsed(kChain);
  ConvertOptions tight = OneCore(Converted(chain, OneCore(kMuch)).memory.arena_bytes / 2);
  tight.split.allowed = true;
  (void)Converted(chain, tight);
  tight.split.force_program = true;
  const auto refused = ConvertGraph(chain, tight);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  CHECK(refused.error().message.find("memory program: none") == 0);
}

TEST_CASE("Program: forced, the limit that a refusal names works, and every larger one") {
  for (const char* text : {kSkip, kChain}) {
    const Graph graph = Parsed(text);
    const Conversion whole = Converted(graph, OneCore(kMuch));
    ConvertOptions options = OneCore(1000);
    options.split.allowed = true;
    options.split.force_program = true;
    const auto refused = ConvertGraph(graph, options);
    REQUIRE_FALSE(refused.ok());
    const int64_t stated = StatedLimit(refused.error(), "sram");
    const auto inputs = test::RandomInputs(graph, 1);
    for (const int64_t limit : {stated, stated + 64, stated + stated / 8, 2 * stated}) {
      CAPTURE(limit);
      options.board.FindSpace("sram")->bytes = limit;
      const Conversion fits = Converted(graph, options);
      CHECK(fits.memory.arena_bytes <= limit);
      CHECK(Outputs(fits, inputs) == Outputs(whole, inputs));
    }
  }
}

TEST_CASE("Program: forced, a graph that fits whole is no matter of its number of ops") {
  std::string text = "input %v0: f32[1,8]\n";
  constexpr int kOps = 610;  // a program is searched for up to 600
  for (int i = 0; i < kOps; ++i) text += fmt::format("%v{} = unary(%v{})\n", i + 1, i);
  ConvertOptions options = OneCore(kMuch);
  options.fuse = false;
  options.split.force_program = true;
  CHECK_FALSE(Converted(Parsed(text + fmt::format("output %v{}\n", kOps)), options).program.used);
}

TEST_CASE("Program: a limit that cannot be met is raised step by step if that is asked for") {
  const Graph graph = Parsed(kSkip);
  ConvertOptions options = OneCore(1000);
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  options.relax_limit = true;
  const Conversion relaxed = Converted(graph, options);
  CHECK(relaxed.relaxed_limit > 1000);
  CHECK(relaxed.memory.arena_bytes <= relaxed.relaxed_limit);
  options = OneCore(kMuch);
  options.relax_limit = true;
  CHECK(Converted(graph, options).relaxed_limit == 0);
}

TEST_CASE("Program: a limit is raised as far as it takes, unless no limit helps") {
  // Forty steps of a quarter lead from one byte to some 2 MB.
  const Graph graph = Parsed(R"(input %x: f32[1,4,1024,1024]
%y = unary(%x) {function=exp}
output %y
)");
  ConvertOptions options = OneCore(1);
  options.split.program = false;
  options.relax_limit = true;
  const Conversion relaxed = Converted(graph, options);
  CHECK(relaxed.relaxed_limit >= relaxed.memory.arena_bytes);
  CHECK(relaxed.relaxed_limit < relaxed.memory.arena_bytes * 5 / 4 + 64);
  const Graph weights = Parsed(kSkip);
  ConvertOptions no_constants = OneCore(1);
  no_constants.board.FindSpace("flash")->bytes = 1000;
  no_constants.relax_limit = true;
  const auto refused = ConvertGraph(weights, no_constants);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  CHECK(refused.error().message.find("'flash'") != std::string::npos);
}

TEST_CASE("Program: of constants that are too many only they are told, whatever the arena needs") {
  const Graph weights = Parsed(kSkip);
  ConvertOptions options = OneCore(1);
  options.board.FindSpace("flash")->bytes = 1000;
  for (const Objective objective : {Objective::kLatency, Objective::kMemory}) {
    options.compile.objective = objective;
    const auto refused = ConvertGraph(weights, options);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
    const int64_t constants = weights.ConstantBytes();
    CHECK(refused.error().message ==
          fmt::format("the model needs {} bytes of 'flash', 1000 are available", constants));
    const std::string details = fmt::format("{}", fmt::join(refused.error().details, "\n"));
    CHECK(details.find(fmt::format("at least --memory-limit flash={} is needed", constants)) !=
          std::string::npos);
    CHECK(details.find("with everything split was not looked for") != std::string::npos);
    CHECK(details.find("the smallest limit") == std::string::npos);
  }
}

TEST_CASE("Program: random graphs under a tight limit compute the same bits") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Graph graph = test::RandomGraph(seed);
    const Conversion whole = Converted(graph, OneCore(kMuch));
    const auto inputs = test::RandomInputs(graph, seed);
    const auto expected = Outputs(whole, inputs);
    for (const int64_t psram : {int64_t{0}, kMuch}) {
      CAPTURE(seed);
      const int64_t limit = whole.memory.arena_bytes * (35 + static_cast<int64_t>(seed)) / 100;
      const ConvertOptions options = OneCore(limit, psram);
      const auto program = ConvertGraph(graph, options);
      if (!program.ok()) {
        CHECK(program.error().kind == ErrorKind::kDoesNotFit);
        continue;
      }
      CHECK(program->memory.arena_bytes <= limit);
      CHECK(Outputs(*program, inputs) == expected);
      ConvertOptions without = options;
      without.split.program = false;
      const auto plain = ConvertGraph(graph, without);
      if (plain.ok()) CHECK(program->time.after <= plain->time.after);
    }
  }
}

/// Several cheap tensors of different sizes are needed before and behind the bulky middle.
std::string ManySkips(int skips) {
  std::string text = R"(input %x: f32[1,1,32,32]
const %m1: f32[24,1,3,3] = random(1)
const %m2: f32[24,24,3,3] = random(2)
const %m3: f32[1,24,3,3] = random(3)
)";
  for (int i = 0; i < skips; ++i) {
    text += fmt::format("const %w{}: f32[{},1,1,1] = random({})\n", i, 3 + 2 * i, 10 + i);
    text += fmt::format("const %v{}: f32[1,{},1,1] = random({})\n", i, 3 + 2 * i, 20 + i);
    text += fmt::format("%a{} = conv(%x, %w{})\n", i, i);
    text += fmt::format("%b{} = conv(%a{}, %v{})\n", i, i, i);
  }
  text += "%s0 = binary(%x, %x)\n";
  for (int i = 0; i < skips; ++i) text += fmt::format("%s{} = binary(%s{}, %b{})\n", i + 1, i, i);
  text += fmt::format("%c = conv(%s{}, %m1) {{pads=[1,1,1,1]}}\n", skips);
  text += "%m = conv(%c, %m2) {pads=[1,1,1,1]}\n%e0 = conv(%m, %m3) {pads=[1,1,1,1]}\n";
  for (int i = 0; i < skips; ++i) {
    text += fmt::format("%d{} = binary(%a{}, %e{})\n", i, i, i);
    text += fmt::format("%e{} = conv(%d{}, %v{})\n", i + 1, i, i);
  }
  return text + fmt::format("output %e{}\n", skips);
}

TEST_CASE(
    "Program: a solver that stops at its limit of nodes leaves a right program, and is named") {
  const Graph graph = Parsed(ManySkips(5));
  const Conversion whole = Converted(graph, OneCore(kMuch));
  const auto inputs = test::RandomInputs(graph, 1);
  int stopped = 0;
  for (const int percent : {90, 80, 70, 60}) {
    CAPTURE(percent);
    ConvertOptions options = OneCore(whole.memory.arena_bytes * percent / 100);
    options.compile.program.solve.most_nodes = 0;
    options.compile.program.solve.relative_gap = 0;
    options.split.force_program = true;
    const auto program = ConvertGraph(graph, options);
    if (!program.ok() || program->program.stopped == 0) continue;
    ++stopped;
    CHECK(Outputs(*program, inputs) == Outputs(whole, inputs));
    CHECK(program->program.stopped <= program->program.windows);
    CHECK(Summary(*program, false).find("the solver stopped at its limit of nodes in") !=
          std::string::npos);
  }
  CHECK(stopped > 0);
}

TEST_CASE("Program: the same graph and options give the same bytes") {
  const Graph graph = Parsed(kSkip);
  const int64_t whole = Converted(graph, OneCore(kMuch)).memory.arena_bytes;
  const ConvertOptions options = OneCore(RefusedWithout(graph, whole));
  CHECK(Converted(graph, options).plan == Converted(graph, options).plan);
}

}  // namespace
}  // namespace tenon::converter
