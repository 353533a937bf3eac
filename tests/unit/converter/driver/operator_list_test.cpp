// The list of operators that `tenon ops` prints, and the page of the docs that has it.
#include "converter/import/operator_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace tenon::converter {
namespace {

constexpr char kBegin[] = "<!-- list: begin -->\n";
constexpr char kEnd[] = "<!-- list: end -->\n";

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

TEST_CASE(
    "Operator list: docs/operators.md has the list as it is (TENON_UPDATE_GOLDEN=1 writes it)") {
  std::string page = ReadPage();
  const size_t begin = page.find(kBegin);
  const size_t end = page.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const size_t from = begin + sizeof kBegin - 1;
  const std::string table = OperatorTable(ImportedOperators());
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) {
    page.replace(from, end - from, table);
    std::ofstream(Page()) << page;
  }
  CHECK(ReadPage().substr(from, table.size()) == table);
  CHECK(ReadPage().compare(from + table.size(), sizeof kEnd - 1, kEnd) == 0);
}

}  // namespace
}  // namespace tenon::converter
