// The C that is made of a small plan, beside this file: classifier_head.{h,c,S}.txt, the plan's
// bytes left out. TENON_UPDATE_GOLDEN=1 writes them anew; read the difference before committing it.
#include "converter/emit/c_source.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "tests/golden/golden_files.hpp"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> Plan() {
  auto graph = converter::ParseGraph(ReadText(GoldenFolder() / "classifier_head.graph"));
  REQUIRE(graph.ok());
  converter::ConvertOptions options;
  auto board = converter::LoadBoard((GoldenFolder() / "portable.json").string());
  REQUIRE(board.ok());
  options.board = std::move(*board);
  auto conversion = converter::ConvertGraph(std::move(*graph), options);
  REQUIRE(conversion.ok());
  return conversion->plan;
}

/// Without the plan's bytes and their number, which are not this test's business.
std::string Abridged(const std::string& text, size_t plan_bytes) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("0x") != std::string::npos) continue;
    const std::string number = std::to_string(plan_bytes);
    if (const size_t at = line.find(number); at != std::string::npos) {
      line.replace(at, number.size(), "<bytes>");
    }
    result += line + "\n";
  }
  return result;
}

void Compare(const std::string& text, const char* name) {
  const fs::path path = GoldenFolder() / name;
  CAPTURE(path.string());
  const char* update = std::getenv("TENON_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << text;
  }
  CHECK(text == ReadText(path));
}

TEST_CASE("Golden: a plan as C and for the assembler is the text beside this test") {
  const std::vector<uint8_t> plan = Plan();
  converter::CSourceOptions options;
  options.identifier = "head";
  options.header = "head.h";
  const auto c = converter::EmitCSource(plan, options);
  REQUIRE(c.ok());
  options.plan_file = "head.tenon";
  const auto assembler = converter::EmitCSource(plan, options);
  REQUIRE(assembler.ok());
  Compare(Abridged(c->header, plan.size()), "classifier_head.h.txt");
  Compare(Abridged(c->source, plan.size()), "classifier_head.c.txt");
  Compare(Abridged(assembler->source, plan.size()), "classifier_head.S.txt");
}

}  // namespace
}  // namespace tenon::test
