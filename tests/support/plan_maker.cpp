// Converts models for tests whose own program cannot: those of firmware's runtime, which has the
// same names as the one that the converter runs.
//
//   plan_maker BOARD text FILE | plan_maker BOARD random SEED   [--run INPUT_SEED]
//
// The board "two-memories" is a Cortex-M55 with half the SRAM that the model needs, and slower
// memory beside it that ops work in too. "BOARD-tight" has three quarters of the SRAM that the
// model needs, and nothing beside it.
//
// Writes to standard output the plan and, with --run, inputs and the outputs that the portable
// kernels give here: each as 8 bytes of size and the bytes themselves (made_plan.hpp reads them).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"

namespace {

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

void Put(const void* data, size_t bytes) {
  const uint64_t size = bytes;
  std::fwrite(&size, 1, sizeof size, stdout);
  if (bytes > 0) std::fwrite(data, 1, bytes, stdout);  // an empty array may have no address
}

[[noreturn]] void Fail(const std::string& words) {
  std::fprintf(stderr, "plan_maker: error: %s\n", words.c_str());
  std::exit(1);
}

converter::Graph ReadGraph(const std::string& kind, const char* what) {
  if (kind == "random") return RandomGraph(std::strtoull(what, nullptr, 10));
  std::ostringstream text;
  text << std::ifstream(what).rdbuf();
  auto graph = converter::ParseGraph(text.str());
  if (!graph.ok()) Fail(graph.error().message);
  return std::move(*graph);
}

converter::Conversion Converted(const converter::Graph& graph,
                                const converter::ConvertOptions& options) {
  auto conversion = converter::ConvertGraph(graph, options);
  if (!conversion.ok()) Fail(conversion.error().message);
  return std::move(*conversion);
}

/// So that ops must work in place, where they can.
converter::ConvertOptions TightOptions(const std::string& board, const converter::Graph& graph) {
  converter::ConvertOptions options = OptionsFor(board);
  options.board.FindSpace("dtcm")->direct = false;
  options.board.FindSpace("sram")->bytes = Converted(graph, options).memory.arena_bytes * 3 / 4;
  options.split.allowed = false;
  return options;
}

converter::ConvertOptions OptionsOf(const std::string& board, const converter::Graph& graph) {
  constexpr std::string_view kTight = "-tight";
  if (board.ends_with(kTight)) {
    return TightOptions(board.substr(0, board.size() - kTight.size()), graph);
  }
  const bool two_memories = board == "two-memories";
  converter::ConvertOptions options = OptionsFor(two_memories ? "cortex-m55" : board);
  options.board.units[0].portable_kernels_only = true;
  if (!two_memories) return options;
  options.board.units[0].kernel_set.clear();
  converter::MemorySpace& slow = *options.board.FindSpace("dtcm");
  slow.bytes = int64_t{1} << 30;
  slow.bandwidth_bytes_per_second = 1e8;
  converter::MemorySpace& fast = *options.board.FindSpace("sram");
  fast.bytes = int64_t{1} << 30;
  fast.bytes = Converted(graph, options).memory.arena_bytes / 2;
  options.split.allowed = false;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && (argc != 6 || std::strcmp(argv[4], "--run") != 0)) {
    Fail("usage: plan_maker BOARD text FILE | plan_maker BOARD random SEED   [--run INPUT_SEED]");
  }
  const converter::Graph graph = ReadGraph(argv[2], argv[3]);
  const converter::Conversion conversion = Converted(graph, OptionsOf(argv[1], graph));
  Put(conversion.plan.data(), conversion.plan.size());
  if (argc == 4) return 0;
  const auto inputs = RandomInputs(graph, std::strtoull(argv[5], nullptr, 10));
  RunSettings settings;
  settings.portable = true;
  const RunResult result = RunPlan(conversion.plan, inputs, settings);
  if (!result.error.empty()) Fail(result.error);
  for (const auto& input : inputs) Put(input.data(), input.size());
  for (const auto& output : result.outputs) Put(output.data(), output.size());
  return 0;
}
