// Boards whose ops work in a second space: models that the first has no room for lie in both, with
// the same bits.
#include "converter/driver/direct_space.hpp"

#include <doctest/doctest.h>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

/// One core with `sram` bytes that it is fast in, and `psram` of `psram_rate` bytes per second.
ConvertOptions Microcontroller(int64_t sram, int64_t psram, double psram_rate = 1e8) {
  ConvertOptions options = test::OptionsFor("cortex-m55");
  Board& board = options.board;
  board.units[0].kernel_set.clear();
  board.FindSpace("sram")->bytes = sram;
  MemorySpace& second = *board.FindSpace("dtcm");
  second.name = "psram";
  second.bytes = psram;
  second.reserve_bytes = 0;
  second.bandwidth_bytes_per_second = psram_rate;
  board.links.clear();
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 20'000;
  options.split.work_budget = 200'000;
  return options;
}

TEST_CASE("Direct space: a model that fits the arena's space lies there alone") {
  const Conversion conversion = Converted(Parsed(kChain), Microcontroller(kMuch, kMuch));
  CHECK(conversion.memory.beside.empty());
}

TEST_CASE("Direct space: without splitting the rest lies in the second space, with the same bits") {
  const Graph graph = Parsed(kChain);
  const Conversion whole = Converted(graph, Microcontroller(kMuch, kMuch));
  const int64_t limit = whole.memory.arena_bytes / 3;  // less than in place
  ConvertOptions options = Microcontroller(limit, kMuch, /*psram_rate=*/1e6);
  options.split.allowed = false;
  const Conversion spread = Converted(graph, options);
  CHECK(spread.memory.arena_bytes <= limit);
  CHECK(spread.memory.arena_bytes > 0);
  REQUIRE(spread.memory.beside.size() == 1);
  CHECK(spread.memory.beside[0].space == "psram");
  CHECK(spread.memory.beside[0].bytes > 0);
  CHECK(spread.time.after > whole.time.after);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(spread, inputs) == Outputs(whole, inputs));
}

TEST_CASE("Direct space: the way that is predicted to take less time is taken") {
  const Graph graph = Parsed(kChain);
  const int64_t limit = Converted(graph, Microcontroller(kMuch, kMuch)).memory.arena_bytes / 2;
  const Conversion slow = Converted(graph, Microcontroller(limit, kMuch, /*psram_rate=*/1e4));
  CHECK(slow.memory.beside.empty());
  CHECK_FALSE(slow.chain_splits.chains.empty());
  const Conversion fast = Converted(graph, Microcontroller(limit, kMuch, /*psram_rate=*/3e9));
  CHECK(fast.memory.beside.size() == 1);
  CHECK(fast.chain_splits.chains.empty());
  CHECK(fast.time.after < slow.time.after);
}

TEST_CASE("Direct space: below what patches reach the second space takes the rest") {
  const Graph graph = Parsed(kChain);
  ConvertOptions smallest = Microcontroller(kMuch, 0);
  smallest.compile.objective = Objective::kMemory;
  const int64_t reached = Converted(graph, smallest).memory.arena_bytes;
  const Conversion spread = Converted(graph, Microcontroller(reached / 2, kMuch, 1e4));
  CHECK(spread.memory.arena_bytes <= reached / 2);
  CHECK(spread.memory.beside.size() == 1);
}

TEST_CASE("Direct space: what fits neither is refused with a limit that works") {
  const Graph graph = Parsed(kChain);
  ConvertOptions options = Microcontroller(256, 4096);
  const auto refused = ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  const std::string mark = "--memory-limit sram=";
  int64_t stated = 0;
  for (const std::string& detail : refused.error().details) {
    const size_t at = detail.find(mark);
    if (at != std::string::npos) stated = std::stoll(detail.substr(at + mark.size()));
  }
  REQUIRE(stated > 256);
  options.board.FindSpace("sram")->bytes = stated;
  const Conversion works = Converted(graph, options);
  CHECK(works.memory.arena_bytes <= stated);
}

TEST_CASE("Direct space: random graphs over two spaces compute the same bits") {
  int spread_count = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    test::RandomGraphOptions shape;
    shape.most_ops = 12;
    const Graph graph = test::RandomGraph(seed, shape);
    const Conversion whole = Converted(graph, Microcontroller(kMuch, kMuch));
    ConvertOptions options = Microcontroller(whole.memory.arena_bytes / 2, kMuch);
    options.split.allowed = seed % 2 == 0;
    const Conversion spread = Converted(graph, options);
    CHECK(spread.memory.arena_bytes <= whole.memory.arena_bytes / 2);
    spread_count += spread.memory.beside.empty() ? 0 : 1;
    const auto inputs = test::RandomInputs(graph, seed);
    CHECK(Outputs(spread, inputs) == Outputs(whole, inputs));
  }
  CHECK(spread_count > 30);
}

}  // namespace
}  // namespace tenon::converter
