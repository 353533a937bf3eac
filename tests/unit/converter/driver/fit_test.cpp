// Graphs against boards that they do not fit whole: split until they do, with the same values, or
// refused with a limit that really works.
#include "converter/driver/fit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

ConvertOptions Portable(int64_t ram) {
  ConvertOptions options = test::OptionsFor();
  options.board.units[0].portable_kernels_only = true;
  options.board.FindSpace("ram")->bytes = ram;
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 2000;
  options.split.work_budget = 200'000;
  return options;
}

int64_t UnlimitedArena(const Graph& graph) {
  const auto conversion = ConvertGraph(graph, Portable(int64_t{1} << 30));
  REQUIRE(conversion.ok());
  CHECK(conversion->chain_splits.chains.empty());
  CHECK(conversion->op_splits.splits.empty());
  return conversion->memory.arena_bytes;
}

/// The number before "bytes of tensors and workspace are alive".
int64_t StatedAlive(const Error& error) {
  for (const std::string& detail : error.details) {
    if (detail.find("most is needed while") == 0) {
      return std::stoll(detail.substr(detail.find(": ") + 2));
    }
  }
  return 0;
}

TEST_CASE("Fit: a chain over the limit is cut into patches that give the same bits") {
  const Graph graph = Parsed(kChain);
  const int64_t whole = UnlimitedArena(graph);
  const auto conversion = ConvertGraph(graph, Portable(whole / 2));
  REQUIRE(conversion.ok());
  CHECK(conversion->memory.arena_bytes <= whole / 2);
  CHECK(conversion->memory.unsplit_bytes == whole);
  REQUIRE(conversion->chain_splits.chains.size() >= 1);
  CHECK(conversion->chain_splits.chains[0].patching.parts > 1);
  const auto unlimited = ConvertGraph(graph, Portable(int64_t{1} << 30));
  REQUIRE(unlimited.ok());
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(*conversion, inputs) == Outputs(*unlimited, inputs));
}

TEST_CASE("Fit: what cannot be split enough is refused with the op and a limit that works") {
  const Graph graph = Parsed(kChain);
  const auto refused = ConvertGraph(graph, Portable(1000));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  const int64_t stated = StatedLimit(refused.error(), "ram");
  CHECK(stated < UnlimitedArena(graph) / 2);
  const auto fits = ConvertGraph(graph, Portable(stated));
  REQUIRE(fits.ok());
  CHECK(fits->memory.arena_bytes <= stated);
}

TEST_CASE("Fit: what a refusal calls alive counts an output in the place of its input once") {
  const Graph graph = Parsed(
      "input %x: f32[64,64]\n%a = unary(%x) {function=exp}\n"
      "%b = unary(%a) {function=tanh}\n%y = unary(%b) {function=exp}\n"
      "output %y\n");
  ConvertOptions options = Portable(1000);
  options.split.allowed = false;
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  const int64_t alive = StatedAlive(refused.error());
  CHECK(alive > 0);
  CHECK(alive <= StatedLimit(refused.error(), "ram"));
}

TEST_CASE("Fit: what a refusal calls alive counts bytes once that an output has taken over") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(1000);
  options.board.architecture = "cortex-m";
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  const int64_t alive = StatedAlive(refused.error());
  CHECK(alive > 0);
  CHECK(alive <= StatedLimit(refused.error(), "ram"));
}

TEST_CASE("Fit: on microcontrollers patches are cut into tiles where whole rows need too much") {
  const Graph graph = Parsed(kChain);
  const auto on_microcontroller = [&](int64_t ram) {
    ConvertOptions options = Portable(ram);
    options.board.architecture = "cortex-m";
    return ConvertGraph(graph, options);
  };
  const auto tiles_of = [](const Conversion& conversion) {
    int32_t tiles = 1;
    for (const SplitChain& chain : conversion.chain_splits.chains) {
      tiles = std::max(tiles, chain.patching.tiles);
    }
    return tiles;
  };
  const auto refused = ConvertGraph(graph, Portable(1000));
  REQUIRE_FALSE(refused.ok());
  const int64_t by_rows = StatedLimit(refused.error(), "ram");
  const auto refused_tiles = on_microcontroller(1000);
  REQUIRE_FALSE(refused_tiles.ok());
  const int64_t by_tiles = StatedLimit(refused_tiles.error(), "ram");
  CHECK(by_tiles < by_rows);

  const auto in_rows = on_microcontroller(by_rows);
  REQUIRE(in_rows.ok());
  CHECK(tiles_of(*in_rows) == 1);
  const auto in_tiles = on_microcontroller(by_tiles);
  REQUIRE(in_tiles.ok());
  CHECK(in_tiles->memory.arena_bytes <= by_tiles);
  CHECK(tiles_of(*in_tiles) > 1);
  CHECK(in_tiles->memory.least_patched_into_tiles);
  CHECK(in_tiles->memory.least_patched <= by_tiles);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(*in_tiles, inputs) == Outputs(*in_rows, inputs));
}

TEST_CASE("Fit: a refusal without splitting says what the largest op alone needs") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(1000);
  options.split.allowed = false;
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  const int64_t stated = StatedLimit(refused.error(), "ram");
  const auto fits = ConvertGraph(graph, Portable(stated));
  REQUIRE(fits.ok());
  CHECK(fits->memory.largest_op_bytes <= stated);
  const auto whole = ConvertGraph(graph, Portable(int64_t{1} << 30));
  REQUIRE(whole.ok());
  // Two images of 16 channels.
  CHECK(whole->memory.largest_op == "b");
  CHECK(whole->memory.largest_op_bytes == 2 * 16 * 24 * 24 * int64_t{sizeof(float)});
  bool said = false;
  for (const std::string& detail : refused.error().details) {
    said = said || detail.find("alone needs") != std::string::npos;
  }
  CHECK(said);
}

TEST_CASE("Fit: without splitting a graph over the limit works in place, with the same bits") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(UnlimitedArena(graph) - 1);
  options.split.allowed = false;
  const auto over = ConvertGraph(graph, options);
  REQUIRE(over.ok());
  CHECK(over->chain_splits.chains.empty());
  const auto unlimited = ConvertGraph(graph, Portable(int64_t{1} << 30));
  REQUIRE(unlimited.ok());
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(*over, inputs) == Outputs(*unlimited, inputs));
}

TEST_CASE("Fit: without splitting a graph is refused below what it needs in place") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(1000);
  options.split.allowed = false;
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  const int64_t stated = StatedLimit(refused.error(), "ram");
  CHECK(stated < UnlimitedArena(graph));
  options.board.FindSpace("ram")->bytes = stated;
  CHECK(ConvertGraph(graph, options).ok());
  options.board.FindSpace("ram")->bytes = stated - 1;
  CHECK_FALSE(ConvertGraph(graph, options).ok());
}

TEST_CASE("Fit: the objective memory keeps to a bound of its price in time") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(int64_t{1} << 30);
  const auto plain = ConvertGraph(graph, options);
  REQUIRE(plain.ok());
  options.compile.objective = Objective::kMemory;
  const auto smallest = ConvertGraph(graph, options);
  REQUIRE(smallest.ok());
  const double most = static_cast<double>(smallest->time.after) - 1;
  options.split.most_slowdown = most / static_cast<double>(plain->time.after);
  REQUIRE(options.split.most_slowdown > 1.0);
  const auto bounded = ConvertGraph(graph, options);
  REQUIRE(bounded.ok());
  CHECK(static_cast<double>(bounded->time.after) <= most);
  CHECK(bounded->memory.arena_bytes >= smallest->memory.arena_bytes);
  CHECK(bounded->memory.arena_bytes <= plain->memory.arena_bytes);
}

TEST_CASE("Fit: for the objective memory chains are cut though the graph fits") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Portable(int64_t{1} << 30);
  options.compile.objective = Objective::kMemory;
  const auto conversion = ConvertGraph(graph, options);
  REQUIRE(conversion.ok());
  CHECK(conversion->memory.arena_bytes < UnlimitedArena(graph) / 2);
}

TEST_CASE("Fit: weights over the memory that they are staged in are split by output channel") {
  ConvertOptions options = test::OptionsFor("npu-3unit");
  const int64_t sram = options.board.ArenaSpace()->bytes;
  const Graph graph = Parsed(R"(input %x: f32[1,1024]
const %w: f32[1024,1024] = random(1)
%y = matmul(%x, %w)
output %y
)");
  const auto conversion = ConvertGraph(graph, options);
  REQUIRE(conversion.ok());
  CHECK(1024 * 1024 * 4 > sram);
  CHECK(conversion->memory.arena_bytes <= sram);
  REQUIRE(conversion->op_splits.splits.size() == 1);
  CHECK(conversion->op_splits.splits[0].dimension == "channel");
  const auto inputs = test::RandomInputs(graph, 1);
  const test::Evaluation expected = test::EvaluateGraph(graph, inputs);
  CHECK(Outputs(*conversion, inputs)[0] == expected.values.at(graph.outputs()[0].tensor));
}

TEST_CASE("Fit: random graphs under a tight limit compute the same bits, or state what works") {
  int split = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    test::RandomGraphOptions shape;
    shape.most_ops = 12;
    const Graph graph = test::RandomGraph(seed, shape);
    const auto unlimited = ConvertGraph(graph, Portable(int64_t{1} << 30));
    REQUIRE(unlimited.ok());
    ConvertOptions options = Portable(unlimited->memory.arena_bytes * 3 / 4);
    auto conversion = ConvertGraph(graph, options);
    if (!conversion.ok()) {
      REQUIRE(conversion.error().kind == ErrorKind::kDoesNotFit);
      options.board.FindSpace("ram")->bytes = StatedLimit(conversion.error(), "ram");
      conversion = ConvertGraph(graph, options);
    }
    if (!conversion.ok()) FAIL(conversion.error().message);
    CHECK(conversion->memory.arena_bytes <= options.board.FindSpace("ram")->bytes);
    if (!conversion->chain_splits.chains.empty()) ++split;
    const auto inputs = test::RandomInputs(graph, seed);
    CHECK(Outputs(*conversion, inputs) == Outputs(*unlimited, inputs));
  }
  CHECK(split > 0);  // most of these graphs have nothing that could be cut
}

TEST_CASE("Fit: random graphs on units side by side compute the same bits as on one core") {
  ConvertOptions units = test::OptionsFor("npu-3unit");
  units.board.FindSpace("sram")->bytes = 64 * 1024;
  units.compile.order.budget = 500;
  units.compile.arena.place.work_budget = 2000;
  units.split.work_budget = 200'000;
  int ran = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    test::RandomGraphOptions shape;
    shape.most_ops = 12;
    const Graph graph = test::RandomGraph(seed, shape);
    const auto conversion = ConvertGraph(graph, units);
    if (!conversion.ok()) {
      CHECK(conversion.error().kind == ErrorKind::kDoesNotFit);
      continue;
    }
    ++ran;
    const auto one_core = ConvertGraph(graph, Portable(int64_t{1} << 30));
    REQUIRE(one_core.ok());
    const auto inputs = test::RandomInputs(graph, seed);
    CHECK(Outputs(*conversion, inputs) == Outputs(*one_core, inputs));
  }
  CHECK(ran > 40);
}

TEST_CASE(
    "Fit: on units side by side the objective memory gives the smallest arena that is found") {
  ConvertOptions options = test::OptionsFor("npu-3unit");
  const auto fastest = ConvertGraph(Parsed(kChain), options);
  REQUIRE(fastest.ok());
  options.compile.objective = Objective::kMemory;
  const auto smallest = ConvertGraph(Parsed(kChain), options);
  REQUIRE(smallest.ok());
  CHECK(smallest->memory.arena_bytes < fastest->memory.arena_bytes);
}

TEST_CASE("Fit: a limit that is no multiple of a storage's alignment gives a plan that passes") {
  ConvertOptions options = test::OptionsFor("npu-3unit");
  for (const int64_t limit : {20'001, 20'003, 20'007}) {
    options.board.FindSpace("sram")->bytes = limit;
    const auto conversion = ConvertGraph(Parsed(kChain), options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    CHECK(conversion->memory.arena_bytes <= limit);
  }
}

TEST_CASE("Fit: what is moved to slow memory counts there, and is in the report") {
  ConvertOptions options = test::OptionsFor("npu-3unit");
  options.board.FindSpace("sram")->bytes = 20'000;
  const auto conversion = ConvertGraph(Parsed(kChain), options);
  REQUIRE(conversion.ok());
  REQUIRE(conversion->memory.beside.size() == 1);
  CHECK(conversion->memory.beside[0].space == "ddr");
  const int64_t used = conversion->memory.beside[0].bytes + conversion->memory.constants_bytes;
  options.board.FindSpace("ddr")->bytes = used - 1;
  const auto refused = ConvertGraph(Parsed(kChain), options);
  if (refused.ok()) {
    CHECK(refused->memory.beside[0].bytes + refused->memory.constants_bytes < used);
  } else {
    CHECK(refused.error().message.find("'ddr'") != std::string::npos);
  }
}

TEST_CASE("Fit: what several backends cannot fit runs on the CPU alone, and the report says so") {
  const Graph graph = Parsed(kChain);
  const ConvertOptions cpu = test::OptionsFor();
  ConvertOptions both = test::OptionsFor("x86-64-opencl");
  both.board.FindSpace("ram")->bytes = 1;
  const auto refused = ConvertGraph(graph, both);
  REQUIRE_FALSE(refused.ok());
  const int64_t limit = StatedLimit(refused.error(), "ram");
  both.board.FindSpace("ram")->bytes = limit;
  const auto conversion = ConvertGraph(graph, both);
  REQUIRE(conversion.ok());
  CHECK(conversion->only_unit == "cpu");
  ConvertOptions one = cpu;
  one.board.FindSpace("ram")->bytes = limit - 1;
  CHECK_FALSE(ConvertGraph(graph, one).ok());
}

TEST_CASE(
    "Fit: within a limit that is asked for, the CPU alone where it is faster than the table") {
  const Graph graph = Parsed(R"(input %x: f32[1,8,4,4]
const %w: f32[8,8,1,1] = random(1)
%y = conv(%x, %w)
output %y
)");
  ConvertOptions options = test::OptionsFor("rk3588");
  const auto by_table = ConvertGraph(graph, options);
  REQUIRE(by_table.ok());
  CHECK(by_table->only_unit.empty());
  options.split.limit_asked = true;
  const auto asked = ConvertGraph(graph, options);
  REQUIRE(asked.ok());
  CHECK(asked->only_unit == "big");
  CHECK(asked->time.after < by_table->time.after);
  options.compile.kernels.pins = {{"*", "opencl"}};
  const auto pinned = ConvertGraph(graph, options);
  REQUIRE(pinned.ok());
  CHECK(pinned->only_unit.empty());
  CHECK(pinned->time.after == by_table->time.after);
}

TEST_CASE("Fit: segments that run as listed leave bytes to another unit's until these have run") {
  // The sum of %x2 runs on the CPU, which is free from the start, but is listed last.
  const Graph graph = Parsed(R"(input %x0: f32[3,1,2,2,1]
input %x1: f32[1,3,4,1]
input %x2: i32[3,3]
const %c: f32[5,6,1,1] = random(1)
const %c_1: f32[5] = random(2)
const %c_2: f32[5,1,1] = random(3)
const %c_3: f32[5,1,1] = random(4)
%op0 = binary(%x0, %x0)
%op1 = concat(%x1, %x1) {axis=1}
%op2 = conv(%op1, %c, %c_1)
%op3 = binary(%op2, %c_2) {function=mul}
%op4 = binary(%op3, %c_3)
%op5 = transpose(%op3) {permutation=[2,3,0,1]}
%op6 = unary(%op5) {function=sigmoid}
%op7 = concat(%op3) {axis=1}
%op8 = concat(%op6, %op6, %op5, %op6) {axis=1}
%op9 = binary(%x2, %x2) {function=less}
output %op0
output %op1
output %op4
output %op7
output %op8
output %op9
)");
  ConvertOptions options = test::OptionsFor("x86-64-opencl");
  options.compile.objective = Objective::kMemory;
  options.compile.order.budget = 2000;
  const auto conversion = ConvertGraph(graph, options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  CHECK(conversion->only_unit.empty());
}

TEST_CASE("Fit: the same graph and options give the same bytes, split and scheduled") {
  const Graph graph = Parsed(kChain);
  ConvertOptions units = test::OptionsFor("npu-3unit");
  units.board.FindSpace("sram")->bytes = 32 * 1024;
  for (const ConvertOptions& options : {Portable(UnlimitedArena(graph) / 2), units}) {
    const auto first = ConvertGraph(graph, options);
    const auto second = ConvertGraph(graph, options);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK(first->plan == second->plan);
  }
}

TEST_CASE("Fit: what fits in some thousand parts alone is split into so many, not refused") {
  std::string text = "input %v0: f32[1,16,256,256]\n";
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("%v{} = unary(%v{}) {{function={}}}\n", i + 1, i, i % 2 ? "tanh" : "exp");
  }
  const Graph graph = Parsed(text + "output %v12\n");
  ConvertOptions options = test::OptionsFor("npu-3unit");
  options.board.FindSpace("sram")->bytes = 64 * 1024;
  options.compile.order.budget = 500;
  options.compile.arena.place.work_budget = 2000;
  const auto conversion = ConvertGraph(graph, options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  CHECK(conversion->memory.arena_bytes <= 64 * 1024);
}

TEST_CASE("Fit: where slow memory is what takes time, chains are cut for what they move") {
  // Images of 64 KiB and little work: what passes between ops is most of the time.
  const Graph graph = Parsed(R"(input %x: f32[1,16,32,32]
const %w1: f32[16,16,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
%a = unary(%x) {function=tanh}
%b = conv(%a, %w1) {pads=[1,1,1,1]}
%c = unary(%b) {function=exp}
%d = binary(%c, %x)
%e = conv(%d, %w2) {pads=[1,1,1,1]}
%f = unary(%e) {function=tanh}
%g = binary(%f, %b)
%y = unary(%g) {function=sin}
output %y
)");
  ConvertOptions options = test::OptionsFor("npu-3unit");
  const auto whole = ConvertGraph(graph, options);
  REQUIRE(whole.ok());
  options.board.FindSpace("sram")->bytes = 64 * 1024;
  const auto cut = ConvertGraph(graph, options);
  REQUIRE(cut.ok());
  bool for_traffic = false;
  for (const SplitChain& chain : cut->chain_splits.chains) {
    for_traffic = for_traffic || chain.reason.find("what passes between its ops") == 0;
  }
  CHECK(for_traffic);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(*cut, inputs) == Outputs(*whole, inputs));
}

}  // namespace
}  // namespace tenon::converter
