// The list of operators that `tenon ops` prints, and the page of the docs that has it.
#include "converter/import/operator_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "converter/driver/kernel_list.hpp"

namespace tenon::converter {
namespace {

std::filesystem::path Page() {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  return std::filesystem::path(source == nullptr ? "." : source) / "docs" / "operators.md";
}

std::string ReadPage() {
  std::ifstream file(Page());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const ImportedOperator* Find(const std::vector<ImportedOperator>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const ImportedOperator& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

TEST_CASE("Operator list: every operator stands once, in order of domain and name") {
  for (const std::vector<ImportedOperator>& list :
       {OnnxOperators(), TfliteOperators(), CaffeOperators()}) {
    CHECK(list.size() > 25);
    std::set<std::string> seen;
    std::string before;
    for (const ImportedOperator& one : list) {
      const std::string key = one.domain + "." + one.name;
      CHECK_MESSAGE(seen.insert(key).second, key);
      CHECK_MESSAGE(before <= key, key);
      before = key;
    }
  }
}

TEST_CASE("Operator list: limits and what integers become are those of the lowering tables") {
  const std::vector<ImportedOperator> onnx = OnnxOperators();
  REQUIRE(Find(onnx, "If") != nullptr);
  CHECK(Find(onnx, "If")->limits.find("--freeze") != std::string::npos);
  REQUIRE(Find(onnx, "Relu") != nullptr);
  CHECK(Find(onnx, "Relu")->limits.empty());
  CHECK(Find(onnx, "QLinearAdd")->domain == "com.microsoft");
  const std::vector<ImportedOperator> tflite = TfliteOperators();
  REQUIRE(Find(tflite, "CONV_2D") != nullptr);
  CHECK(Find(tflite, "CONV_2D")->quantized.find("bit") != std::string::npos);
  CHECK(Find(tflite, "RESHAPE")->quantized != Find(tflite, "CONV_2D")->quantized);
}

TEST_CASE("Operator list: JSON has each operator's name and limits") {
  const std::string json = OperatorJson({{"onnx", "ai.onnx", "Foo", "not \"bar\"", ""}});
  CHECK(json.find("\"operator\": \"Foo\"") != std::string::npos);
  CHECK(json.find("not \\\"bar\\\"") != std::string::npos);
}

TEST_CASE("Kernel list: every op has a portable kernel, and JSON says what the table does") {
  const std::string table = KernelTable();
  CHECK(table.find("| op | cpu | ") == 0);
#define TENON_OP(Op, name, number)                       \
  {                                                      \
    const size_t row = table.find("\n| " #name " | ");   \
    REQUIRE(row != std::string::npos);                   \
    const size_t end = table.find('\n', row + 1);        \
    const size_t portable = table.find("portable", row); \
    CHECK_MESSAGE(portable < end, #name);                \
  }
#include "runtime/ops/ops.inc"
  const std::string json = KernelJson();
  CHECK(json.find("\"op\": \"non_max_suppression\"") != std::string::npos);
}

/// The page has `table` between its marks; with TENON_UPDATE_GOLDEN=1 it is written there.
void CheckPage(const std::string& list, const std::string& table) {
  const std::string begin_mark = "<!-- " + list + ": begin -->\n";
  const std::string end_mark = "<!-- " + list + ": end -->\n";
  std::string page = ReadPage();
  const size_t begin = page.find(begin_mark);
  const size_t end = page.find(end_mark);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const size_t from = begin + begin_mark.size();
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) {
    page.replace(from, end - from, table);
    std::ofstream(Page()) << page;
  }
  CHECK(ReadPage().substr(from, table.size()) == table);
  CHECK(ReadPage().compare(from + table.size(), end_mark.size(), end_mark) == 0);
}

TEST_CASE(
    "Operator list: docs/operators.md has the list as it is (TENON_UPDATE_GOLDEN=1 writes it)") {
  CheckPage("list", OperatorTable(ImportedOperators()));
}

TEST_CASE("Kernel list: docs/operators.md has it as it is in a build with all backends") {
  if (KernelTable().find("| op | cpu | opencl | fpga |") != 0) {
    MESSAGE("not compared: this build lacks a backend");
    return;
  }
  CheckPage("kernels", KernelTable());
}

}  // namespace
}  // namespace tenon::converter
