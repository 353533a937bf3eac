// Differential fuzzing: random graphs, converted with random options for random boards and run in
// random ways, compute what the graph says op by op. A sample in every run; how to make it
// thousands, and to try one seed again: docs/results-fuzz.md.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "converter/ir/text.hpp"
#include "tests/fuzz/differential/attempt.hpp"
#include "tests/support/random_graph.hpp"

namespace tenon::test {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void TryMany(bool quantized) {
  const uint64_t first = FromEnvironment("TENON_DIFFERENTIAL_FROM", 1);
  const uint64_t count = FromEnvironment("TENON_DIFFERENTIAL", 100);
  std::map<std::string, int> kinds;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    Choices choices = Draw(seed, quantized);
    if (const char* board = std::getenv("TENON_DIFFERENTIAL_BOARD")) choices.board = board;
    const Outcome outcome = Try(choices);
    ++kinds[outcome.kind];
    if (outcome.wrong.empty()) continue;
    ++failures;
    // At once: what goes wrong may end the process while it is made simpler.
    std::fprintf(stderr, "%s: %s\n", Describe(choices).c_str(), outcome.wrong.c_str());
    const Choices simplest =
        Shrink(choices, [](const Choices& tried) { return !Try(tried).wrong.empty(); });
    const Outcome last = Try(simplest);
    // What does not always go wrong is no simpler, and has no words any more.
    FAIL_CHECK(Describe(choices) << ": " << outcome.wrong << "\nsimplest: " << Describe(simplest)
                                 << ": " << last.wrong << "\n"
                                 << last.graph);
  }
  for (const auto& [kind, number] : kinds) {
    std::printf("%s%s %d", kind == kinds.begin()->first ? "" : ", ", kind.c_str(), number);
  }
  std::printf(" of %llu\n", static_cast<unsigned long long>(count));
  // A sample must show every way.
  if (count >= 100) CHECK(kinds.size() >= 5);
}

TEST_CASE("Differential: random graphs, options, boards and ways to run give the graph's values") {
  TryMany(/*quantized=*/false);
}

TEST_CASE("Differential: random quantized graphs give the bits of their integer ops") {
  TryMany(/*quantized=*/true);
}

TEST_CASE("Random quantized graphs have every integer op, and every way to round") {
  std::map<std::string, int> found;
  RandomGraphOptions options;
  options.quantized = true;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string text = PrintGraph(RandomGraph(seed, options));
    for (const char* words :
         {" quantized_conv(", " quantized_matmul(", " quantized_binary(",
          " quantized_average_pool(", " quantized_reduce(", " quantized_softmax(", " lookup(",
          " quantize(", " dequantize(", " max_pool(", "rounding=fixed_point",
          "rounding=fixed_point_once", "rounding=half_away"}) {
      found[words] += text.find(words) != std::string::npos ? 1 : 0;
    }
  }
  for (const auto& [words, graphs] : found) CHECK_MESSAGE(graphs >= 3, words);
}

TEST_CASE("Choices: what does not matter to a failure is made plain") {
  Choices choices = Draw(9);
  choices.threads = 2;
  choices.limit_percent = 60;
  const auto fails = [](const Choices& tried) {
    return tried.threads == 2 && tried.limit_percent > 0 && tried.most_ops >= 5;
  };
  CHECK(Describe(Shrink(choices, fails)) == "seed 9, most_ops 5, limit 60, threads 2");
}

TEST_CASE("Choices: simpler ones lead to the plainest and no further") {
  Choices choices = Draw(7);
  for (int steps = 0;; ++steps) {
    REQUIRE(steps < 100);
    const std::vector<Choices> simpler = Simpler(choices);
    if (simpler.empty()) break;
    choices = simpler.front();
  }
  CHECK(Describe(choices) == "seed 7, most_ops 1");
}

}  // namespace
}  // namespace tenon::test
