// Small graphs and the plans made of them, both as text beside this file: NAME.graph, NAME.plan.
// Where there is a board NAME.json the plan is for that, with a pipeline of two threads.
// TENON_UPDATE_GOLDEN=1 writes the plans anew; read the difference before committing it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "tests/golden/golden_files.hpp"
#include "tests/support/plan_text.hpp"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

/// The plan of a graph on its own board, or else that of this folder, as text.
std::string Converted(const fs::path& graph_file) {
  auto graph = converter::ParseGraph(ReadText(graph_file));
  if (!graph.ok()) return graph.error().message;
  converter::ConvertOptions options;
  fs::path own_board = graph_file;
  own_board.replace_extension(".json");
  const bool has_own = fs::exists(own_board);
  if (has_own) {
    options.parallel.mode = converter::ParallelMode::kPipeline;
    options.parallel.threads = 2;
  }
  auto board =
      converter::LoadBoard((has_own ? own_board : GoldenFolder() / "portable.json").string());
  if (!board.ok()) return board.error().message;
  options.board = std::move(*board);
  const auto conversion = converter::ConvertGraph(std::move(*graph), options);
  return conversion.ok() ? PlanText(conversion->plan) : conversion.error().message + "\n";
}

TEST_CASE("Golden: every graph of this folder gives the plan beside it") {
  std::vector<fs::path> graphs;
  for (const auto& entry : fs::directory_iterator(GoldenFolder())) {
    if (entry.path().extension() == ".graph") graphs.push_back(entry.path());
  }
  std::sort(graphs.begin(), graphs.end());
  REQUIRE(graphs.size() >= 5);
  const char* update = std::getenv("TENON_UPDATE_GOLDEN");
  for (fs::path path : graphs) {
    CAPTURE(path.filename().string());
    const std::string text = Converted(path);
    path.replace_extension(".plan");
    if (update != nullptr && std::string(update) == "1") {
      std::ofstream(path, std::ios::binary) << text;
    }
    CHECK(text == ReadText(path));
  }
}

}  // namespace
}  // namespace tenon::test
